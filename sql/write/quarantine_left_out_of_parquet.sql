-- quarantine: the rows of a Parquet file that are not among those that count, each with the local day it belongs to.
-- Grain    one row per row of the file that does not belong to a forgotten day
-- Reads    the file $path, whole_hour
-- Params   $file_id; $n_before, $file_date, $dates, $starts, $ends, $path, $time, $clock, $age, $latitude, $micros,
--          $time_format, $decimal, $only, $only_columns, $blank: see raw_record_from_parquet
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
with field as (
    select
        file_row_number + 1 + $n_before as line_number,
        columns(lambda c: c = $time) as first_time,
        columns(lambda c: c = $clock) as second_time,
        case when $age <> $latitude then columns(lambda c: c = $age) end as age,
        is_among(
            struct_pack(*columns(lambda c: c in $only_columns))::map(varchar, varchar),
            $only::map(varchar, varchar[]),
            $blank
        ) as is_among
    from read_parquet($path, file_row_number = true, hive_partitioning = false)
),

timed as (
    select *, parted_instant(first_time, second_time, $micros, $time_format) as instant
    from field
),

other as (
    select line_number, taken_at(instant, age, $decimal) as observed_at
    from timed
    where not is_among
)

select
    $file_id::integer as file_id,
    line_number,
    coalesce($file_date::date, whole_hour.local_date, local_day(observed_at)) as local_date,
    'left_out' as reason
from other
left join whole_hour on whole_hour.number = epoch_us(observed_at) // 3600000000
where not was_forgotten(coalesce($file_date::date, whole_hour.local_date, local_day(observed_at)), observed_at, $dates, $starts, $ends)
