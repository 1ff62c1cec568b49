-- Writes the records of a part that do not belong to a forgotten day to a file.
-- Grain    one row per raw record
-- Reads    the file $path
-- Params   $path, $kept_path; $dates, $starts, $ends: what was forgotten
-- Privacy  SENSITIVE
copy (
    select *
    from read_parquet($path, hive_partitioning = false)
    where not was_forgotten(local_date, observed_at, $dates, $starts, $ends)
) to $kept_path (format parquet, compression zstd)
