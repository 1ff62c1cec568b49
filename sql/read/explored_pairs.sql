-- The occupancy array of a day in other hexagons and slots: which user was in which cell, and how often.
-- Grain    one row per (slot, h3_cell, user_number); slots are counted from the first instant of the local day
-- Reads    explored_pair
-- Params   $day_start in UTC; $slot_minutes
-- Privacy  assumed public: user ids never leave the warehouse
select
    (epoch_us(slot_start) - epoch_us($day_start)) // ($slot_minutes::bigint * 60000000) as slot,
    h3_cell,
    dense_rank() over (order by user_id) - 1 as user_number,
    sum(n_records)::bigint as n_records
from explored_pair
group by slot, h3_cell, user_id
order by slot, h3_cell, user_number
