-- The first and the last local day of the raw records of some files, and of the rows that do not count.
-- Grain    one row
-- Reads    held_row, quarantine
-- Params   $file_ids
-- Privacy  times of records, assumed public
select min(local_date) as first_date, max(local_date) as last_date
from (
    select file_id, local_date
    from held_row
    union all
    select file_id, local_date
    from quarantine
    where reason = 'left_out'
)
where file_id in $file_ids
