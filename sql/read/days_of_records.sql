-- The local days of the records that were read.
-- Grain    one row per local_date, in order
-- Reads    raw_record
-- Privacy  of times alone, assumed public
select local_date, count(*) as n_records
from raw_record
where local_date is not null
group by local_date
order by local_date
