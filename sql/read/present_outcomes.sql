-- How many rows of one local day were used or not, and why; for the curator alone.
-- Grain    one row per reason; kept are records, what was said twice counted once; outside_area are others; ids_alike
--          counts users whose id is that of another one, spelled in another way
-- Reads    present_row, present_pair
-- Privacy  SENSITIVE: where presence is secret, every one of these numbers is
with kept as (
    select
        coalesce(sum(n_records) filter (where cell is not null), 0)::bigint as n_kept,
        coalesce(sum(n_records) filter (where cell is null), 0)::bigint as n_outside,
        count(distinct user_id) as n_users
    from present_pair
),

spelling as (
    select count(*) as n_users
    from (select distinct user_id from present_pair)
    group by plain_id(user_id)
)

select reason, count(*) as n_rows
from present_row
where reason is not null
group by reason

union all

select unnest(['kept', 'outside_area', 'users']), unnest([n_kept, n_outside, n_users])
from kept

union all

select 'ids_alike', coalesce(sum(n_users) filter (n_users > 1), 0)::bigint
from spelling
