-- incoming: the rows of a file with one JSON object per line; a value that cannot be read is null.
-- A line is valid with any JSON value, and with NaN and Infinity. A user id must be a text or a whole number.
-- Grain    one row per line; is_object is false if the line is not what records are
-- Reads    source_line: the lines of the file; clock_hour
-- Params   $user, $time, $clock, $latitude, $longitude, $value: pointers to members, $clock that of the second column
--          of the time, or $time; $blank: trimmed off user ids; $micros, $time_format: of times, see instant_of;
--          $place: the form of places, see place_of; $decimal: the decimal mark;
--          $age: a pointer to the age of a fix, or $latitude if there is none; $only: MAP of columns to the texts of
--          rows that count, see is_among; $only_members: pointers to these columns, in order;
--          $kind: what a record is, OBJECT or ARRAY; $user_of_file: the user, if the file's path names it
-- Privacy  SENSITIVE
create or replace temp table incoming as
with readable as (
    select row_number, readable_json(line) as line
    from source_line
    where starts_with(line, '{') or trim(line, ' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)) <> ''
),

parsed as (
    select
        row_number,
        json_valid(line) and coalesce(json_type(if(json_valid(line), line, 'null')) = $kind, false) as is_object,
        if(is_object, line, '{}') as object
    from readable
),

field as (
    select
        *,
        json_extract_string(object, $time) as first_time,
        json_extract_string(object, $clock) as second_time,
        json_extract_string(object, $latitude) as written_latitude,
        json_extract_string(object, $longitude) as written_longitude
    from parsed
),

timed as (
    select
        *,
        written_time(first_time, second_time, $time_format) as time,
        place_of(written_latitude, written_longitude, $place) as place
    from field
),

found as (
    select *, instant_of(time, $micros, $time_format) as instant
    from timed
)

select
    row_number,
    is_object,
    coalesce($user_of_file::varchar, if(
        json_type(object, $user) in ('VARCHAR', 'UBIGINT', 'BIGINT'),
        trimmed_id(json_extract_string(object, $user), $blank),
        null
    )) as user_id,
    taken_at(instant, case when $age <> $latitude then json_extract_string(object, $age) end, $decimal) as observed_at,
    is_among(
        map(map_keys($only::map(varchar, varchar[])), json_extract_string(object, $only_members::varchar[])),
        $only::map(varchar, varchar[]),
        $blank
    ) as is_among,
    place.place_cell,
    place.latitude,
    place.longitude,
    case when $value <> $latitude then number_of(json_extract_string(object, $value), $decimal) end as value,
    case
        when epoch_us(readable_time(instant)) // 3600000000 in (select number from clock_hour)
            then clock_shift(naive_micros(time, $micros, $time_format))
    end as clock_shift,
    list_filter(
        [$user, $time, $clock, $latitude, $longitude, $value],
        lambda pointer: json_exists(object, pointer)
    ) as members
from found
