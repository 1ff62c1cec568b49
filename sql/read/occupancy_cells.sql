-- The cells of one local day, in the order of their numbers.
-- Grain    one row per (slot_start, h3_cell)
-- Reads    user_cell
-- Params   $date
-- Privacy  assumed public: totals are not read
select slot_start, h3_cell, sum(n_records)::bigint as n_records, count(*) as n_users
from user_cell
where local_date = $date
group by slot_start, h3_cell
order by slot_start, h3_cell
