-- How many of each user's records in the published cells of one local day are in each bin, before noise.
-- Grain    one row per (slot_start, h3_cell, user_hash, value_bin) of the plan
-- Reads    user_cell_bin, user_key, the file $pairs
-- Params   $date, $pairs: path of the plan's pairs
-- Units    value_bin as in user_cell_bin
-- Privacy  SENSITIVE: exact counts; they leave memory only weighed, summed and with noise on them
select slot_start, h3_cell, user_hash, value_bin::bigint as private_bin, n_values as private_n_values
from read_parquet($pairs, hive_partitioning = false)
join user_key using (user_hash)
join user_cell_bin using (slot_start, h3_cell, user_id)
where local_date = $date
