-- What each user brought to each public cell of one local day: records and the sum of their values.
-- A slot is one by the clock on the wall, so an hour that the clock shows twice is one slot.
-- Grain    one row per (user, cell); user is a number from 1, and cell is hexagon n_slots + slot
-- Reads    present_record, area_hexagon
-- Params   $resolution, $slot_minutes, $day_zone
-- Units    total in ticks
-- Privacy  SENSITIVE: where presence is secret, even how many rows this has is
with placed as (
    select
        user_id,
        h3_cell(latitude, longitude, $resolution) as h3_cell,
        (60 * hour(timezone($day_zone, observed_at)) + minute(timezone($day_zone, observed_at))) // $slot_minutes
            as slot,
        value_ticks
    from present_record
),

pair as (
    select user_id, number * (1440 // $slot_minutes) + slot as cell, count(*) as n_records, sum(value_ticks) as total
    from placed
    inner join area_hexagon using (h3_cell)
    group by all
)

select dense_rank() over (order by user_id) as user, cell, n_records, total::bigint as total
from pair
