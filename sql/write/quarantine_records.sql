-- quarantine: the records of one local day that break a rule or are repeated.
-- Grain    one row per record
-- Reads    quarantined_record
-- Params   $date
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select file_id, row_number, $date::date as local_date, reason
from quarantined_record
