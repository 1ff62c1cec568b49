-- day_pair: how often each user was in each cell of one local day, and what the user's records add up to.
-- Grain    one row per (slot_start, h3_cell, user_id)
-- Reads    record
-- Params   $date, $n_ticks, $with_squares BOOLEAN
-- Units    total_ticks and total_squares are exact integers; lowest_ticks is null where any record has no ticks
-- Privacy  SENSITIVE: a temporary table
create or replace temp table day_pair as
select
    $date::date as local_date,
    slot_start,
    h3_cell,
    user_id,
    count(*) as n_records,
    sum(value_ticks) as total_ticks,
    sum(case when $with_squares then (2 * value_ticks - $n_ticks) * (2 * value_ticks - $n_ticks) end)
        as total_squares,
    case when count(value_ticks) = count(*) then min(value_ticks) end as lowest_ticks,
    max(value_ticks) as highest_ticks
from record($date)
group by all
