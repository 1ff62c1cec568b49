-- present_pair: what each user brought to each cell of one local day; what a user said twice counts once.
-- Of several values at one time and place the mean in ticks counts. Only rows whose hash another row has can be such;
-- they alone are compared, with rows of the same user: nothing is decided by rows of another. A slot is one by the
-- clock on the wall, so an hour that the clock shows twice is one slot.
-- Grain    one row per (user_id, cell)
-- Reads    present_row, repeated_hash, area_hexagon
-- Params   $factor: of values in the source's unit; $lower, $tick in the value's unit; $n_ticks; $resolution;
--          $slot_minutes; $day_zone; $day_start, $day_end in UTC
-- Units    total adds up (value factor - lower) / tick, each from 0 to n_ticks; cell is hexagon n_slots + slot, null
--          outside the area; ahead is how many microseconds the clock is ahead of UTC, null if it is changed that day:
--          to ask the engine for the clock of each row takes longer than all else
-- Privacy  SENSITIVE
create or replace temp table present_pair as
with clock as (
    select if(min(ahead) = max(ahead), min(ahead), null) as ahead
    from (
        select epoch_us(timezone($day_zone, minute)) - epoch_us(minute) as ahead
        from unnest(generate_series($day_start::timestamptz, $day_end::timestamptz, interval 1 minute)) as day (minute)
    )
),

used as not materialized (
    select
        user_id,
        observed_at,
        place_cell,
        latitude,
        longitude,
        identity_hash(user_id, observed_at, latitude, longitude) as identity_hash,
        case
            when value * $factor <= $lower then 0
            else least(round((value * $factor - $lower) / $tick), $n_ticks)::integer
        end as value_ticks
    from present_row
    where reason is null
),

once as (
    select user_id, observed_at, place_cell, latitude, longitude, value_ticks
    from used
    anti join repeated_hash using (identity_hash)
    union all
    select user_id, observed_at, place_cell, latitude, longitude, (sum(value_ticks) // count(*))::integer
    from used
    semi join repeated_hash using (identity_hash)
    group by user_id, observed_at, place_cell, latitude, longitude
),

placed as (
    select
        user_id,
        hexagon_of(place_cell, latitude, longitude, $resolution) as h3_cell,
        coalesce(
            epoch_us(make_timestamp(epoch_us(observed_at) + ahead)::time),
            epoch_us(timezone($day_zone, observed_at)::time)
        ) // ($slot_minutes * 60000000::bigint) as slot,
        value_ticks
    from once
    cross join clock
),

celled as (
    select user_id, (number * (1440 // $slot_minutes) + slot)::integer as cell, value_ticks
    from placed
    left join area_hexagon using (h3_cell)
)

select user_id, cell, count(*) as n_records, sum(value_ticks)::bigint as total
from celled
group by user_id, cell
