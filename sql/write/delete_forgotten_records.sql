-- raw_record: deletes the records of forgotten days, by local day or time, and of files read with other settings.
-- Grain    none, rows are deleted
-- Params   $dates, $starts, $ends: what was forgotten; $other_files
-- Privacy  SENSITIVE: deletes private rows
delete from raw_record
where was_forgotten(local_date, observed_at, $dates, $starts, $ends)
    or file_id in $other_files::integer[]
