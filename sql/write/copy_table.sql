-- any_table: is written whole to a file, from a worker's temporary warehouse.
-- Grain    that of the table
-- Params   $path
-- Privacy  SENSITIVE
copy any_table to $path (format parquet)
