-- present_row: the rows of a day's NDJSON files or JSON documents, each read by itself, so no row depends on another's.
-- A user id must be a text or a whole number.
-- Grain    one row per text that is not empty; one that is no JSON has no fields
-- Reads    json_text
-- Params   $user, $time, $latitude, $longitude, $value: the JSON paths of the columns; $blank: trimmed off user
--          ids; $micros, $time_format: of times, see instant_of; $place: the form of places, see place_of; $decimal:
--          the decimal mark of texts; $is_measured: whether rows have a value of their own, else it is 0; $day_start,
--          $day_end in UTC; $missing: values of the source that mean "not measured"; $only: MAP of columns to the
--          texts of rows that count, see is_among; $only_members: the JSON paths of these columns, in order
-- Privacy  SENSITIVE
create or replace temp table present_row as
with line as (
    select without_mark(line) as line
    from json_text
    where trim(line, chr(13) || chr(10) || chr(9) || ' ') <> ''
),

whole as (
    select
        case when json_valid(line) then json_extract_string(line, [$user, $time, $latitude, $longitude, $value]) end
            as field,
        case when json_valid(line) then json_type(line, $user) in ('VARCHAR', 'UBIGINT', 'BIGINT') end as has_id,
        is_among(
            map(
                map_keys($only::map(varchar, varchar[])),
                case when json_valid(line) then json_extract_string(line, $only_members::varchar[]) end
            ),
            $only::map(varchar, varchar[]),
            $blank
        ) as is_among
    from line
),

timed as (
    select *, instant_of(field[2], $micros, $time_format) as instant
    from whole
),

read as (
    select
        case when has_id then trimmed_id(field[1], $blank) end as user_id,
        readable_time(instant) as observed_at,
        place_of(field[3], field[4], $place) as place,
        if($is_measured, number_of(field[5], $decimal), 0) as value,
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
