-- raw_record: deletes what is of some days, by its own day or its time, and all of files read with other settings.
-- Grain    none, rows are deleted
-- Params   $dates, $starts, $ends: what was forgotten; $other_files
-- Privacy  SENSITIVE: deletes private rows
delete from raw_record
where was_forgotten(local_date, observed_at, $dates, $starts, $ends)
    or file_id in $other_files::integer[]
