-- value_repair: how many of one local day's values were replaced, added up over its shards.
-- Grain    one row per (local_date, repair)
-- Reads    the files $paths
-- Params   $paths: written by workers
-- Privacy  SENSITIVE: these counts depend on values
insert into value_repair by name
select local_date, repair, sum(n_records)::bigint as n_records
from read_parquet($paths, hive_partitioning = false)
group by all
