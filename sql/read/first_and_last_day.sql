-- The first and the last local day of the raw records of some files.
-- Grain    one row
-- Reads    held_row
-- Params   $file_ids
-- Privacy  times of records, assumed public
select min(local_date) as first_date, max(local_date) as last_date
from held_row
where file_id in $file_ids
