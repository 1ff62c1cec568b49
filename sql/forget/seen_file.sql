-- seen_file: deletes where files were seen that held forgotten days and of which no row is left.
-- Grain    none, rows are deleted
-- Params   $file_ids
-- Privacy  SENSITIVE: deletes private rows
delete from seen_file
where file_id in $file_ids and file_id not in (select file_id from raw_file)
