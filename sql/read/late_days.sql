-- The days whose records came after their release, with how many records came late.
-- Grain    one row per local_date
-- Reads    late_day
-- Privacy  counts of records, assumed public
select local_date, n_records
from late_day
where n_records > 0
order by local_date
