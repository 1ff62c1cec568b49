-- any_table: deletes the rows of some local days, and all rows of files that were read with other settings.
-- Grain    none, rows are deleted
-- Params   $dates, $other_files
-- Privacy  SENSITIVE: deletes private rows
delete from any_table
where local_date in $dates or file_id in $other_files::integer[]
