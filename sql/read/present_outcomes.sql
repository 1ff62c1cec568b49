-- How many rows of one local day were used or not, and why; for the curator alone.
-- Grain    one row per reason; kept are records, what was said twice counted once; outside_area are others
-- Reads    present_row, present_pair
-- Privacy  SENSITIVE: where presence is secret, every one of these numbers is
with kept as (
    select
        coalesce(sum(n_records) filter (where cell is not null), 0)::bigint as n_kept,
        coalesce(sum(n_records) filter (where cell is null), 0)::bigint as n_outside,
        count(distinct user_id) as n_users
    from present_pair
)

select reason, count(*) as n_rows
from present_row
where reason is not null
group by reason

union all

select unnest(['kept', 'outside_area', 'users']), unnest([n_kept, n_outside, n_users])
from kept
