-- late_day: deletes some local days for good.
-- Grain    none, rows are deleted
-- Params   $dates
-- Privacy  SENSITIVE: deletes private rows
delete from late_day
where local_date in $dates
