-- quarantine: the records of one local day that break a rule.
-- Grain    one row per record
-- Reads    judged
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select file_id, row_number, local_date, reason
from judged
where reason is not null
