-- present_row: the rows of a day's CSV files, each line read by itself, so that no row depends on another's.
-- A line ends at its end, whatever quotes it holds: no field goes over several lines. The engine splits the lines
-- without quotes, and a pattern those with quotes or a byte order mark, which no line keeps. A line of another number
-- of fields than the header is no row.
-- Grain    one row per line with the right number of fields
-- Reads    the files $paths, by lines_of too
-- Params   $paths; $columns MAP of f1, f2 and so on to VARCHAR, in the file's order, with beyond at the end; $header:
--          whether each file has one; $delimiter; $field: a pattern of a delimiter and a field after it, as its first
--          group; $n_fields; $user, $time, $clock, $latitude, $longitude, $value: the places of the columns from 1,
--          $clock that of the time if the date has no column of its own; $blank: trimmed off user ids; $micros,
--          $time_format: of times, see instant_of; $place: the form of places, see place_of; $decimal: the decimal
--          mark; $is_measured: whether rows have a value of their own, else it is 0; $day_start, $day_end in UTC;
--          $missing: values of the source that mean "not measured"; $only: MAP of columns to the texts of rows that
--          count, see is_among; $only_columns: these columns, or any; $only_places: their places from 1
-- Privacy  SENSITIVE
create or replace temp table present_row as
with plain as (
    select
        columns(lambda c: c = 'f' || $user) as user_id,
        columns(lambda c: c = 'f' || $time) as time,
        columns(lambda c: c = 'f' || $clock) as clock,
        columns(lambda c: c = 'f' || $latitude) as latitude,
        columns(lambda c: c = 'f' || $longitude) as longitude,
        columns(lambda c: c = 'f' || $value) as value,
        is_among(
            struct_pack(*columns(lambda c: c in $only_columns))::map(varchar, varchar),
            $only::map(varchar, varchar[]),
            $blank
        ) as is_among
    from read_csv(
        $paths,
        columns = $columns,
        auto_detect = false,
        header = $header,
        delim = $delimiter,
        quote = '',
        escape = '',
        comment = '',
        new_line = '\n',
        nullstr = chr(30),
        null_padding = true,
        ignore_errors = true,
        strict_mode = false,
        hive_partitioning = false
    )
    where
        not contains(columns(lambda c: c <> 'beyond'), '"')
        and beyond is null
        and not starts_with(f1, chr(65279))
),

line as (
    select without_mark(line) as line
    from lines_of($paths, $header)
    where contains(line, '"') or starts_with(line, chr(65279))
),

split as (
    select
        list_transform(
            regexp_extract_all($delimiter || line, $field, 1),
            lambda one: if(starts_with(one, '"'), replace(one[2:-2], '""', '"'), one)
        ) as field
    from line
),

written as (
    select *
    from plain
    union all
    select
        field[$user],
        field[$time],
        field[$clock],
        field[$latitude],
        field[$longitude],
        field[$value],
        is_among(
            map(
                map_keys($only::map(varchar, varchar[])),
                list_transform($only_places::bigint[], lambda place: field[place])
            ),
            $only::map(varchar, varchar[]),
            $blank
        )
    from split
    where len(field) = $n_fields
),

joined as (
    select * replace (if($clock = $time, time, joined_time(time, clock, $time_format)) as time)
    from written
),

timed as (
    select *, instant_of(time, $micros, $time_format) as instant
    from joined
),

read as (
    select
        trimmed_id(user_id, $blank) as user_id,
        readable_time(instant) as observed_at,
        place_of(latitude, longitude, $place) as place,
        if($is_measured, number_of(value, $decimal), 0) as value,
        is_among
    from timed
)

select
    * exclude (place, is_among),
    unnest(place),
    present_reason(
        is_among, user_id, observed_at, place.latitude, place.longitude, value, $day_start, $day_end, $missing
    ) as reason
from read
