-- quarantine: what a worker put there while it read a file, or judged a shard.
-- Grain    one row per unused row
-- Reads    the file $path
-- Params   $path, $file_id: the coordinator's number of the file that a worker read; null for a shard of many
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select coalesce($file_id::integer, file_id) as file_id, row_number, line_number, local_date, reason
from read_parquet($path, hive_partitioning = false)
