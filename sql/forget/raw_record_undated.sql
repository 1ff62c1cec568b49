-- raw_record: deletes the rows without a day of files that held forgotten days and of which no other row is left.
-- Grain    none, rows are deleted
-- Params   $file_ids
-- Privacy  SENSITIVE: deletes private rows
delete from raw_record
where file_id in $file_ids
    and local_date is null
    and file_id not in (select file_id from raw_record where local_date is not null)
