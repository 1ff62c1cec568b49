-- How many valid records one local day has.
-- Grain    one row
-- Reads    record
-- Params   $date
-- Privacy  a count of records, assumed public; no rule that decides it looks at a value
select count(*) as n_records
from record($date)
