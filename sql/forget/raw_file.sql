-- raw_file: deletes files of which no row is left.
-- Grain    none, rows are deleted
-- Privacy  SENSITIVE: deletes private rows
delete from raw_file
where file_id not in (select file_id from raw_record)
