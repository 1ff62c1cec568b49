-- value_repair: deletes some local days for good.
-- Grain    none, rows are deleted
-- Params   $dates
-- Privacy  SENSITIVE: deletes private rows
delete from value_repair
where local_date in $dates
