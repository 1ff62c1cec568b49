-- raw_path: deletes where files were seen of which no row is left.
-- Grain    none, rows are deleted
-- Privacy  SENSITIVE: deletes private rows
delete from raw_path
where file_id not in (select file_id from raw_file)
