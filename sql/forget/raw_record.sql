-- raw_record: deletes some local days for good.
-- Grain    none, rows are deleted
-- Params   $dates
-- Privacy  SENSITIVE: deletes private rows
delete from raw_record
where local_date in $dates
