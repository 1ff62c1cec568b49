-- Reads every value of a Parquet file's columns: fails if the file cannot be read.
-- Grain    one row, with a column for each
-- Reads    the file $path
-- Params   $path, $names: of its columns
select count(hash(columns(lambda c: c in $names)))
from read_parquet($path, hive_partitioning = false)
