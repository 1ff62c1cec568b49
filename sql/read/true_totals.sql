-- What the values of each cell of one local day add up to, without noise, for the curator's own comparison.
-- Grain    one row per (slot_start, h3_cell)
-- Reads    user_cell
-- Params   $date, $n_ticks
-- Units    private_total in ticks, of the values that are not missing, of which there are private_n_values
-- Privacy  SENSITIVE: exact totals; what is computed from them is written under private/ and shown to the curator only
select
    slot_start,
    h3_cell,
    sum(n_records)::bigint as n_records,
    sum(n_records - n_missing)::bigint as private_n_values,
    sum(total_ticks - n_missing * ($n_ticks // 2))::double as private_total
from user_cell
where local_date = $date
group by slot_start, h3_cell
order by slot_start, h3_cell
