-- The occupancy array of one local day: who was where, and how often. All that a plan may read.
-- Grain    one row per (slot_start, h3_cell, user_id)
-- Reads    user_cell, without its totals
-- Params   $date
-- Privacy  assumed public; user ids still never leave the warehouse
select slot_start, h3_cell, user_id, n_records
from user_cell
where local_date = $date
order by slot_start, h3_cell, user_id
