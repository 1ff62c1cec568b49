-- Whether a file has times that the clock showed twice.
-- Grain    one row if so
-- Reads    raw_record
-- Params   $file_id
select file_id
from raw_record
where file_id = $file_id and clock_shift < 0
limit 1
