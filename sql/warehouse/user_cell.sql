-- user_cell: the occupancy array of one local day, with what each user's records add up to.
-- Grain    one row per (slot_start, h3_cell, user_id)
-- Reads    record
-- Params   $date, $n_ticks, $with_squares BOOLEAN
-- Units    total_ticks and total_squares are exact integers
-- Privacy  SENSITIVE: the totals
insert into user_cell by name
select
    local_date,
    slot_start,
    h3_cell,
    user_id,
    count(*) as n_records,
    sum(value_ticks) as total_ticks,
    sum(case when $with_squares then (2 * value_ticks - $n_ticks) * (2 * value_ticks - $n_ticks) end)
        as total_squares
from record
where local_date = $date
group by all
