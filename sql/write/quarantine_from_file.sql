-- quarantine: what reading a file, or one shard's rules, put there.
-- Grain    one row per row that is not used
-- Reads    the file $path, written by a worker
-- Params   $path, $file_id: the coordinator's number where a worker read one file and had its own, else null
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select coalesce($file_id::integer, file_id) as file_id, row_number, line_number, local_date, reason
from read_parquet($path, hive_partitioning = false)
