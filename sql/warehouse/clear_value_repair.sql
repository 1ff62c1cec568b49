-- value_repair: empties one local day, so that the day can be written again.
-- Grain    none, rows are deleted
-- Params   $date
-- Privacy  SENSITIVE: deletes private rows
delete from value_repair where local_date = $date
