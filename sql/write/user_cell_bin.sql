-- user_cell_bin: how many of each user's records in a cell of one local day are in each bin.
-- Grain    one row per (slot_start, h3_cell, user_id, value_bin)
-- Reads    record
-- Params   $date, $n_ticks
-- Units    value_bin is 0 for 0 ticks, else 100 value_ticks / n_ticks, rounded up; a missing value is in no bin
-- Privacy  SENSITIVE: never leaves the warehouse
insert into user_cell_bin by name
select
    $date::date as local_date,
    slot_start,
    h3_cell,
    user_id,
    ((100 * value_ticks + $n_ticks - 1) // $n_ticks)::utinyint as value_bin,
    count(*) as n_values
from record($date, apart := false)
where not was_missing
group by all
