-- The lowest and the highest value of each user in each cell of one local day, to check the contract of records.
-- The values between them need no check, because the other columns of their records are the same.
-- Grain    one or two rows per (slot_start, h3_cell, user_id), in the columns of record
-- Reads    day_pair
-- Privacy  SENSITIVE
select local_date, slot_start, h3_cell, user_id, lowest_ticks as value_ticks
from day_pair
union all
select local_date, slot_start, h3_cell, user_id, highest_ticks as value_ticks
from day_pair
where highest_ticks > lowest_ticks
