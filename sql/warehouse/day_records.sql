-- The valid records of one local day, for the contract check.
-- Grain    one row per record
-- Reads    record
-- Params   $date
-- Privacy  SENSITIVE
select *
from record
where local_date = $date
