-- How many rows of one local day were used or not, and why; for the curator alone.
-- Grain    one row per reason; kept if they were used, once for what was said twice; outside_area of those kept
-- Reads    present_row, present_record, area_hexagon
-- Params   $day_start, $day_end in UTC; $missing: of values in the source's unit; $resolution
-- Privacy  SENSITIVE: where presence is secret, every one of these numbers is
with reason as (
    select
        coalesce(
            present_reason(user_id, observed_at, latitude, longitude, value, $day_start, $day_end, $missing), 'used'
        ) as reason,
        count(*) as n_rows
    from present_row
    group by all
),

kept as (
    select
        count(*) as n_records,
        count(*) filter (
            h3_cell(latitude, longitude, $resolution) not in (select h3_cell from area_hexagon)
        ) as n_outside,
        count(distinct user_id) as n_users
    from present_record
)

select reason, n_rows
from reason
where reason <> 'used'

union all

select unnest(['kept', 'outside_area', 'users']), unnest([n_records - n_outside, n_outside, n_users])
from kept
