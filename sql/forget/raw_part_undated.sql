-- raw_part: deletes the parts without a day of files that held forgotten days and of which no other part is left.
-- Grain    none, rows are deleted
-- Params   $file_ids
-- Privacy  public
delete from raw_part
where file_id in $file_ids
    and local_date is null
    and file_id not in (select file_id from raw_part where local_date is not null)
