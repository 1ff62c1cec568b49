-- What each user brought to each public cell of one local day: records and the sum of their values.
-- Grain    one row per (user, cell); user is a number from 1
-- Reads    present_pair
-- Units    total in ticks
-- Privacy  SENSITIVE: where presence is secret, even how many rows this has is
select dense_rank() over (order by user_id) as user, cell, n_records, total
from present_pair
where cell is not null
