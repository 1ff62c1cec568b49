-- present_row: the rows of a day's Parquet files, each read by itself.
-- Grain    one row per row of the files
-- Reads    source_row: the columns of the files that are read
-- Params   $blank: trimmed off user ids; $micros, $time_format: of times, see instant_of; $place: the form of places,
--          see place_of; $decimal: the decimal mark of texts; $is_measured: whether rows have a value of their own,
--          else it is 0; $day_start, $day_end in UTC; $missing: values of the source that mean "not measured";
--          $only: MAP of columns to the texts of rows that count, see is_among; $only_columns: these columns, or any
-- Privacy  SENSITIVE
create or replace temp table present_row as
with timed as (
    select *, instant_of(time, $micros, $time_format) as instant
    from source_row
),

read as (
    select
        trimmed_id("user"::varchar, $blank) as user_id,
        readable_time(instant) as observed_at,
        place_of(latitude, longitude, $place) as place,
        if($is_measured, number_of(value, $decimal), 0) as value,
        is_among(
            struct_pack(*columns(lambda c: c in $only_columns))::map(varchar, varchar),
            $only::map(varchar, varchar[]),
            $blank
        ) as is_among
    from timed
)

select
    * exclude (place, is_among),
    unnest(place),
    present_reason(
        is_among, user_id, observed_at, place.latitude, place.longitude, value, $day_start, $day_end, $missing
    ) as reason
from read
