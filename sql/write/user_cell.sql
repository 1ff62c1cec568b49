-- user_cell: the occupancy array of one local day, with what each user's records add up to.
-- Grain    one row per (slot_start, h3_cell, user_id)
-- Reads    day_pair
-- Units    total_ticks and total_squares are exact integers
-- Privacy  SENSITIVE: the totals and n_missing
insert into user_cell by name
select local_date, slot_start, h3_cell, user_id, n_records, total_ticks, total_squares, n_missing
from day_pair
