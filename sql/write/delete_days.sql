-- any_table: deletes the rows of some local days.
-- Grain    none, rows are deleted
-- Params   $dates
-- Privacy  SENSITIVE: deletes private rows
delete from any_table
where local_date in $dates
