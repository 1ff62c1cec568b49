-- user_cell: the occupancy array of one local day, merged from its shards; each user is in one of them.
-- Grain    one row per (slot_start, h3_cell, user_id)
-- Reads    the files $paths
-- Params   $paths: written by workers
-- Units    total_ticks and total_squares are exact integers
-- Privacy  SENSITIVE: the totals and n_missing
insert into user_cell by name
select
    local_date,
    slot_start,
    h3_cell,
    user_id,
    n_records,
    total_ticks::hugeint as total_ticks,
    total_squares::hugeint as total_squares,
    n_missing
from read_parquet($paths, hive_partitioning = false)
