-- The files that have times that the clock showed twice.
-- Grain    one row per such file
-- Reads    raw_record
-- Params   $file_ids
select distinct file_id
from raw_record
where file_id in $file_ids and clock_shift < 0
