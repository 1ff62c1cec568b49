-- For the contract check, the valid records of one local day, without those between a user's lowest and highest value
-- in a cell: where those two are in range, so are they, and in all else they are equal.
-- Grain    one or two rows per (slot_start, h3_cell, user_id), in the columns of record
-- Reads    day_pair
-- Privacy  SENSITIVE
select local_date, slot_start, h3_cell, user_id, lowest_ticks as value_ticks
from day_pair
union all
select local_date, slot_start, h3_cell, user_id, highest_ticks as value_ticks
from day_pair
where highest_ticks > lowest_ticks
