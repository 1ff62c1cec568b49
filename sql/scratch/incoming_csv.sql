-- incoming: the rows of a CSV file, converted from text to types; a value that cannot be read is null.
-- One scanner reads the file from start to end. Several scanners would start in the middle, and guess whether they are
-- inside quotes. With a value of many lines they can guess wrong, and read its lines as records.
-- Grain    one row per row with the right number of fields
-- Reads    the file $path, clock_hour; the lines it rejects are then in rejected_line
-- Params   $path, $columns MAP of role to VARCHAR in the file's order, $delimiter, $header: whether it has one;
--          $line_end: how its first record ends, which the engine would guess wrong from a value of several lines;
--          $blank: trimmed off user ids; $filename: the column that gets the file's path, if one does;
--          $user_of_file: the user in its place, if the file's name is the user;
--          $time, $clock: the columns of the time, one or two: see written_time;
--          $micros, $time_format: of times, see instant_of; $decimal: the decimal mark;
--          $latitude, $longitude: the columns of the place, one or two; $place: its form, see place_of;
--          $value: the column of the value, or $latitude if the value follows from places;
--          $age: that of the age of a fix, or $latitude if there is none; $only: MAP of columns to the texts of rows
--          that count, see is_among; $only_columns: these columns, or any if there are none
-- Privacy  SENSITIVE
create or replace temp table incoming as
with field as (
    select
        row_number() over () as row_number,
        trimmed_id(coalesce($user_of_file, user_id), $blank) as user_id,
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
    from read_csv(
        $path,
        columns = $columns,
        auto_detect = false,
        header = $header,
        filename = $filename,
        hive_partitioning = false,
        delim = $delimiter,
        new_line = $line_end,
        quote = '"',
        escape = '"',
        nullstr = '',
        store_rejects = true,
        rejects_table = 'rejected_line',
        rejects_scan = 'rejected_scan',
        rejects_limit = 0,
        parallel = false
    )
),

timed as (
    select
        *,
        written_time(first_time, second_time, $time_format) as whole_time,
        place_of(written_latitude, written_longitude, $place) as place
    from field
),

placed as (
    select *, instant_of(whole_time, $micros, $time_format) as instant
    from timed
)

select
    row_number,
    true as is_object,
    is_among,
    user_id,
    taken_at(instant, age, $decimal) as observed_at,
    value,
    place.place_cell,
    place.latitude,
    place.longitude,
    case
        when epoch_us(readable_time(instant)) // 3600000000 in (select number from clock_hour)
            then clock_shift(naive_micros(whole_time, $micros, $time_format))
    end as clock_shift
from placed
