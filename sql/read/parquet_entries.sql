-- The entries of every so many-th row in one column of a Parquet file, in order.
-- Grain    one row per such row
-- Reads    the file $path
-- Params   $path; $name: of the column; $step: every how many-th row; $n: how many rows at most
-- Privacy  of times, places and users alone, assumed public
select columns(lambda c: c = $name) as entry
from read_parquet($path, file_row_number = true, hive_partitioning = false)
where file_row_number % $step = 0
limit $n
