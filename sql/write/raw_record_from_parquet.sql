-- raw_record: the rows of one Parquet file, cast to types; a value that cannot be read is null.
-- Grain    one row per row of the file that counts and does not belong to a forgotten day
-- Reads    the file $path, whole_hour, clock_hour
-- Params   $file_id; $n_before: rows of the file that were read before; $file_date: the day the file is for, or null if
--          each row's own time gives the day; $dates, $starts, $ends: what was forgotten; $path, $user, $time, $clock,
--          $latitude, $longitude, $value: names of its columns; $blank: trimmed off user ids; $micros, $time_format: of
--          times, see instant_of; $place: the form of places, see place_of; $decimal: the decimal mark of texts;
--          $age: the column of the age of a fix, or $latitude if there is none; $only: MAP of columns to the texts of
--          rows that count, see is_among; $only_columns: these columns, or any if there are none
-- Privacy  SENSITIVE
insert into raw_record by name
with field as (
    select
        file_row_number + 1 + $n_before as row_number,
        columns(lambda c: c = $user)::varchar as written_id,
        columns(lambda c: c = $time) as first_time,
        columns(lambda c: c = $clock) as second_time,
        columns(lambda c: c = $latitude) as written_latitude,
        columns(lambda c: c = $longitude) as written_longitude,
        case when $value <> $latitude then number_of(columns(lambda c: c = $value), $decimal) end as value,
        case when $age <> $latitude then columns(lambda c: c = $age) end as age,
        is_among(
            struct_pack(*columns(lambda c: c in $only_columns))::map(varchar, varchar),
            $only::map(varchar, varchar[]),
            $blank
        ) as is_among
    from read_parquet($path, file_row_number = true, hive_partitioning = false)
),

timed as (
    select
        *,
        parted_instant(first_time, second_time, $micros, $time_format) as instant,
        place_of(written_latitude, written_longitude, $place) as place
    from field
),

incoming as (
    select *, taken_at(instant, age, $decimal) as observed_at
    from timed
    where is_among
)

select
    $file_id::integer as file_id,
    row_number,
    coalesce($file_date::date, whole_hour.local_date, local_day(observed_at)) as local_date,
    trimmed_id(written_id, $blank) as user_id,
    observed_at,
    place.place_cell,
    place.latitude,
    place.longitude,
    value,
    case
        when epoch_us(readable_time(instant)) // 3600000000 in (select number from clock_hour)
            then clock_shift(naive_micros(written_time(first_time, second_time, $time_format), $micros, $time_format))
    end as clock_shift
from incoming
left join whole_hour on whole_hour.number = epoch_us(observed_at) // 3600000000
where not was_forgotten(coalesce($file_date::date, whole_hour.local_date, local_day(observed_at)), observed_at, $dates, $starts, $ends)
