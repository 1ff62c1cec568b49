-- How many rows of one local day were kept or quarantined when its occupancy array was made.
-- Grain    one row per reason
-- Reads    prepared_count
-- Params   $date
-- Privacy  counts of records, assumed public
select reason, n_rows
from prepared_count
where local_date = $date
order by n_rows desc, reason
