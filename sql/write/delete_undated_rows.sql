-- any_table: deletes the rows without a day of some files, if no row with a day is left of the file.
-- Grain    none, rows are deleted
-- Params   $file_ids
-- Privacy  SENSITIVE: deletes private rows
delete from any_table
where file_id in $file_ids
    and local_date is null
    and file_id not in (select file_id from any_table where local_date is not null)
