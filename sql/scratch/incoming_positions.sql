-- incoming: the rows of a decoded feed of vehicle positions; a value that the feed does not say is null.
-- Grain    one row per position, and per entity that cannot be decoded; for these is_object is false
-- Reads    source_row: the decoded positions; clock_hour
-- Params   $blank: trimmed off user ids; $micros, $time_format: of times, see instant_of
-- Privacy  SENSITIVE
create or replace temp table incoming as
select
    row_number,
    is_whole as is_object,
    trimmed_id("user", $blank) as user_id,
    readable_time(instant) as observed_at,
    null::ubigint as place_cell,
    latitude,
    longitude,
    value,
    case
        when epoch_us(observed_at) // 3600000000 in (select number from clock_hour)
            then clock_shift(naive_micros(time, $micros, $time_format))
    end as clock_shift
from (
    select *, instant_of(time, $micros, $time_format) as instant
    from source_row
)
