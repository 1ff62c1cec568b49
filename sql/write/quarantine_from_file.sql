-- quarantine: the rows that a worker quarantined when it read a file or validated a shard.
-- Grain    one row per unused row
-- Reads    the file $path
-- Params   $path, $file_id: the coordinator's id of the file that a worker read; null for a shard of many files
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select coalesce($file_id::integer, file_id) as file_id, row_number, line_number, local_date, reason
from read_parquet($path, hive_partitioning = false)
