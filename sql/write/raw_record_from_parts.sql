-- raw_record: one shard's raw records from some parts, in a worker's temporary warehouse.
-- Grain    one row per raw record
-- Reads    the files $paths
-- Params   $paths, $shard, $n_shards: parts made for another number of shards hold other users too
-- Privacy  SENSITIVE
insert into raw_record by name
select *
from read_parquet($paths, hive_partitioning = false, union_by_name = true)
where coalesce(md5_number_lower(user_id) % $n_shards::ubigint, 0) = $shard
