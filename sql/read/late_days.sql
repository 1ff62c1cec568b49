-- The days of which records came after their release.
-- Grain    one row per local_date
-- Reads    late_day
-- Privacy  counts of records, assumed public
select local_date, n_records
from late_day
where n_records > 0
order by local_date
