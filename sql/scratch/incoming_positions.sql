-- incoming: the rows of a decoded feed of vehicle positions; a value that the feed does not say is null.
-- Grain    one row per position, and per entity that cannot be decoded; for these is_object is false
-- Reads    source_row: the decoded positions; clock_hour
-- Params   $blank: trimmed off user ids; $micros, $time_format: of times, see instant_of; $decimal: the decimal mark;
--          $only: MAP of columns to the texts of rows that count, see is_among; $only_columns: these columns, or any
-- Privacy  SENSITIVE
create or replace temp table incoming as
select
    row_number,
    is_whole as is_object,
    is_among(
        struct_pack(*columns(lambda c: c in $only_columns))::map(varchar, varchar),
        $only::map(varchar, varchar[]),
        $blank
    ) as is_among,
    trimmed_id("user", $blank) as user_id,
    taken_at(instant, age, $decimal) as observed_at,
    null::ubigint as place_cell,
    latitude,
    longitude,
    value,
    case
        when epoch_us(readable_time(instant)) // 3600000000 in (select number from clock_hour)
            then clock_shift(naive_micros(time, $micros, $time_format))
    end as clock_shift
from (
    select *, instant_of(time, $micros, $time_format) as instant
    from source_row
)
