-- Pairs of a published cell and a user whose number of records differs between the warehouse and the plan.
-- Grain    one row per such pair
-- Reads    user_cell, user_key, the file $pairs
-- Params   $date, $pairs: path of the plan's pairs
with held as (
    select slot_start, h3_cell, user_hash, user_cell.n_records
    from user_cell
    join user_key using (user_id)
    where local_date = $date
        and (slot_start, h3_cell) in (select (slot_start, h3_cell) from read_parquet($pairs, hive_partitioning = false))
)
select slot_start, h3_cell
from read_parquet($pairs, hive_partitioning = false) as planned
full join held using (slot_start, h3_cell, user_hash)
where planned.n_records is distinct from held.n_records
