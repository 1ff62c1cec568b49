-- The parts in which records lie on another day than the one that their file is for.
-- Grain    one row per part
-- Reads    raw_part
-- Privacy  times of records, assumed public
select name
from raw_part
where is_stray
order by name
