-- any_table: deletes the rows of some files, if no raw row of the file is left.
-- Grain    none, rows are deleted
-- Reads    held_row
-- Params   $file_ids
-- Privacy  SENSITIVE: deletes private rows
delete from any_table
where file_id in $file_ids and file_id not in (select file_id from held_row)
