-- quarantine: deletes what points at files that held forgotten days and of which no row is left.
-- Grain    none, rows are deleted
-- Params   $file_ids
-- Privacy  SENSITIVE: deletes private rows
delete from quarantine
where file_id in $file_ids and file_id not in (select file_id from held_row)
