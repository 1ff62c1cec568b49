-- any_table: is written completely to a file, from a worker's temporary warehouse.
-- Grain    that of the table
-- Params   $path
-- Privacy  SENSITIVE
copy any_table to $path (format parquet)
