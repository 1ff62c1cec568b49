-- user_cell: deletes some local days for good.
-- Grain    none, rows are deleted
-- Params   $dates
-- Privacy  SENSITIVE: deletes private rows
delete from user_cell
where local_date in $dates
