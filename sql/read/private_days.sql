-- The local days for which the warehouse holds private data, with their number of raw rows.
-- Grain    one row per local_date
-- Reads    held_row, user_cell, quarantine, value_repair
-- Privacy  counts of records, assumed public
select local_date, sum(n_rows)::bigint as n_rows
from (
    select local_date, n_rows from held_row
    union all
    select local_date, 0 from user_cell
    union all
    select local_date, 0 from quarantine
    union all
    select local_date, 0 from value_repair
)
where local_date is not null
group by local_date
order by local_date
