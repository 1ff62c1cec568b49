-- The occupancy array of one local day: which user was in which cell, and how often. A plan may read nothing else.
-- Grain    one row per (cell, user_number), counted from 0 in the order of occupancy_cells and of day_users
-- Reads    user_cell
-- Params   $date
-- Privacy  assumed public: totals are not read; user ids still never leave the warehouse
with
    pair as (
        select slot_start, h3_cell, user_id, n_records
        from user_cell
        where local_date = $date
    ),
    numbered_cell as (
        select slot_start, h3_cell, row_number() over (order by slot_start, h3_cell) - 1 as cell
        from (select distinct slot_start, h3_cell from pair)
    ),
    numbered_user as (
        select user_id, row_number() over (order by user_id) - 1 as user_number
        from (select distinct user_id from pair)
    )
select cell, user_number, n_records
from pair
join numbered_cell using (slot_start, h3_cell)
join numbered_user using (user_id)
order by cell, user_number
