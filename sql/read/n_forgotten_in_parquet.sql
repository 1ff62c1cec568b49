-- How many rows of a Parquet file belong to forgotten days.
-- Grain    one row
-- Reads    the file $path
-- Params   $path, $time: name of its column; $micros, $time_format: of times, see instant_of;
--          $file_date: the day the file is for, or null; $dates, $starts, $ends: what was forgotten
-- Privacy  a count of records, assumed public
select count(*) as n_rows
from (
    select readable_time(instant_of(columns(lambda c: c = $time), $micros, $time_format)) as observed_at
    from read_parquet($path, hive_partitioning = false)
)
where was_forgotten(coalesce($file_date::date, local_day(observed_at)), observed_at, $dates, $starts, $ends)
