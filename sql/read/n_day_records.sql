-- How many raw records one local day has.
-- Grain    one row
-- Reads    raw_record
-- Params   $date, $file_ids
-- Privacy  a count of records, assumed public
select count(*) as n_records
from raw_record
where local_date = $date and file_id in $file_ids
