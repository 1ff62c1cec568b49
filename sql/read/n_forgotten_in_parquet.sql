-- How many rows of a Parquet file belong to forgotten days.
-- Grain    one row
-- Reads    the file $path
-- Params   $path, $time, $clock: names of its columns; $micros, $time_format: of times, see instant_of;
--          $file_date: the day the file is for, or null; $dates, $starts, $ends: what was forgotten
-- Privacy  a count of records, assumed public
select count(*) as n_rows
from (
    select
        columns(lambda c: c = $time) as first_time,
        columns(lambda c: c = $clock) as second_time,
        readable_time(parted_instant(first_time, second_time, $micros, $time_format)) as observed_at
    from read_parquet($path, hive_partitioning = false)
)
where was_forgotten(coalesce($file_date::date, local_day(observed_at)), observed_at, $dates, $starts, $ends)
