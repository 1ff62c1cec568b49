-- How many rows of a Parquet file belong to forgotten days.
-- Grain    one row
-- Reads    the file $path
-- Params   $path, $time, $clock: names of its columns; $age: that of the age of a fix, or $latitude if there is none;
--          $decimal: the decimal mark of texts; $micros, $time_format: of times, see instant_of;
--          $file_date: the day the file is for, or null; $dates, $starts, $ends: what was forgotten
-- Privacy  a count of records, assumed public
select count(*) as n_rows
from (
    select
        columns(lambda c: c = $time) as first_time,
        columns(lambda c: c = $clock) as second_time,
        case when $age <> $latitude then columns(lambda c: c = $age) end as age,
        parted_instant(first_time, second_time, $micros, $time_format) as instant,
        taken_at(instant, age, $decimal) as observed_at
    from read_parquet($path, hive_partitioning = false)
)
where was_forgotten(coalesce($file_date::date, local_day(observed_at)), observed_at, $dates, $starts, $ends)
