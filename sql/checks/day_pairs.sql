-- A day whose occupancy array does not hold each of its valid records once.
-- Grain    one row if it does not
-- Reads    user_cell, record
-- Params   $date
select n_held, n_kept
from (
    select
        (select coalesce(sum(n_records), 0) from user_cell where local_date = $date) as n_held,
        (select count(*) from record($date)) as n_kept
)
where n_held is distinct from n_kept
