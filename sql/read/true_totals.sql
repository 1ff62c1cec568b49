-- What the values of each cell of one local day add up to, without noise, for the curator's own comparison.
-- Grain    one row per (slot_start, h3_cell)
-- Reads    user_cell
-- Params   $date
-- Units    private_total in ticks
-- Privacy  SENSITIVE: exact totals; what is computed from them is written under private/ and shown to the curator only
select slot_start, h3_cell, sum(n_records)::bigint as n_records, sum(total_ticks)::double as private_total
from user_cell
where local_date = $date
group by slot_start, h3_cell
order by slot_start, h3_cell
