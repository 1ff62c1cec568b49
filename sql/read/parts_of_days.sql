-- The parts that hold raw records of some days and files.
-- Grain    one row per part
-- Reads    raw_part
-- Params   $dates, $file_ids
-- Privacy  counts of records of some users together, assumed public
select name, shard, n_shards, local_date::varchar as local_date, n_rows
from raw_part
where local_date in $dates and file_id in $file_ids
order by name
