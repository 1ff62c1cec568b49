-- present_row: the rows of a day's NDJSON files, each line read by itself, so that no row depends on another's.
-- Grain    one row per line that is not empty; one that is no JSON has no fields
-- Reads    the files $paths, by lines_of
-- Params   $paths; $user, $time, $latitude, $longitude, $value: the JSON paths of the columns; $blank: trimmed off user
--          ids; $micros, $time_format: of times, see instant_of; $place: the form of places, see place_of; $decimal:
--          the decimal mark of texts; $day_start, $day_end in UTC; $missing: values of the source that mean "not
--          measured"
-- Privacy  SENSITIVE
create or replace temp table present_row as
with line as (
    select line
    from lines_of($paths, false)
    where trim(line, chr(13) || chr(9) || ' ') <> ''
),

whole as (
    select case when json_valid(line) then json_extract_string(line, [$user, $time, $latitude, $longitude, $value]) end
        as field
    from line
),

timed as (
    select *, instant_of(field[2], $micros, $time_format) as instant
    from whole
),

read as (
    select
        trimmed_id(field[1], $blank) as user_id,
        readable_time(instant) as observed_at,
        place_of(field[3], field[4], $place) as place,
        number_of(field[5], $decimal) as value
    from timed
)

select
    * exclude (place),
    unnest(place),
    present_reason(user_id, observed_at, place.latitude, place.longitude, value, $day_start, $day_end, $missing) as reason
from read
