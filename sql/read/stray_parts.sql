-- The parts whose records have a time on another day than the day of their file.
-- Grain    one row per part
-- Reads    raw_part
-- Privacy  times of records, assumed public
select name
from raw_part
where is_stray
order by name
