-- present_pair: what each user brought to each cell of one local day; what a user said twice counts once.
-- Of several values at one time and place the mean in ticks counts. Nothing is decided by rows of another user. A slot
-- is one by the clock on the wall, so an hour that the clock shows twice is one slot.
-- Grain    one row per (user_id, cell)
-- Reads    present_row, area_hexagon
-- Params   $factor: of values in the source's unit; $lower, $tick in the value's unit; $n_ticks; $resolution;
--          $slot_minutes; $day_zone
-- Units    total adds up (value factor - lower) / tick, each from 0 to n_ticks; cell is hexagon n_slots + slot, null
--          outside the area
-- Privacy  SENSITIVE
create or replace temp table present_pair as
with once as (
    select
        user_id,
        observed_at,
        place_cell,
        latitude,
        longitude,
        sum(
            case
                when value * $factor <= $lower then 0
                else least(round((value * $factor - $lower) / $tick), $n_ticks)::bigint
            end
        ) // count(*) as value_ticks
    from present_row
    where reason is null
    group by user_id, observed_at, place_cell, latitude, longitude
),

placed as (
    select
        user_id,
        hexagon_of(place_cell, latitude, longitude, $resolution) as h3_cell,
        (60 * hour(timezone($day_zone, observed_at)) + minute(timezone($day_zone, observed_at))) // $slot_minutes
            as slot,
        value_ticks
    from once
),

celled as (
    select user_id, number * (1440 // $slot_minutes) + slot as cell, value_ticks
    from placed
    left join area_hexagon using (h3_cell)
)

select user_id, cell, count(*) as n_records, sum(value_ticks)::bigint as total
from celled
group by user_id, cell
