-- present_record: the rows of one local day that are used, what a user said twice of a time and place counted once.
-- Of several values the mean in ticks counts. Nothing is decided by rows of another user.
-- Grain    one row per (user_id, observed_at, latitude, longitude)
-- Reads    present_row
-- Params   $day_start, $day_end in UTC; $missing, $factor: of values in the source's unit; $lower, $tick in the value's
--          unit; $n_ticks
-- Units    value_ticks = (value factor - lower) / tick, from 0 to n_ticks
-- Privacy  SENSITIVE
create or replace temp table present_record as
select
    user_id,
    observed_at,
    latitude,
    longitude,
    sum(
        case
            when value * $factor <= $lower then 0
            else least(round((value * $factor - $lower) / $tick), $n_ticks)::bigint
        end
    ) // count(*) as value_ticks
from present_row
where present_reason(user_id, observed_at, latitude, longitude, value, $day_start, $day_end, $missing) is null
group by user_id, observed_at, latitude, longitude
