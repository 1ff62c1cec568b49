-- raw_part: deletes for good some local days, and all of files that were read with other settings; their parts are then deleted from the shards' storage.
-- Grain    none, rows are deleted
-- Params   $dates, $other_files
-- Privacy  public
delete from raw_part
where local_date in $dates or file_id in $other_files::integer[]
