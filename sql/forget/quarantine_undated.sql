-- quarantine: deletes what points at rows or lines of files of which no row is left.
-- Grain    none, rows are deleted
-- Privacy  SENSITIVE: deletes private rows
delete from quarantine
where file_id not in (select file_id from raw_record)
