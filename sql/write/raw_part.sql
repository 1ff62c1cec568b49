-- raw_part: stores the parts of one file.
-- Grain    one row per part
-- Reads    written_part
-- Params   $file_id
-- Privacy  counts and times of records of some users together, assumed public
insert into raw_part by name
select name, $file_id::integer as file_id, shard, n_shards, local_date::date as local_date, n_rows, is_stray
from written_part
