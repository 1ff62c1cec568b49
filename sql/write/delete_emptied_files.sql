-- any_table: deletes those of some files of which no raw row is left.
-- Grain    none, rows are deleted
-- Reads    held_row
-- Params   $file_ids
-- Privacy  SENSITIVE: deletes private rows
delete from any_table
where file_id in $file_ids and file_id not in (select file_id from held_row)
