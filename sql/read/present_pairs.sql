-- What each user brought to each public cell of one local day: records and the sum of their values.
-- Grain    one row per (user, cell); user is a number from 1
-- Reads    present_record
-- Units    total in ticks
-- Privacy  SENSITIVE: where presence is secret, even how many rows this has is
with pair as (
    select user_id, cell, count(*) as n_records, sum(value_ticks)::bigint as total
    from present_record
    where cell is not null
    group by user_id, cell
)

select dense_rank() over (order by user_id) as user, cell, n_records, total
from pair
