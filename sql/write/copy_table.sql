-- Writes a table of a worker's temporary warehouse to a file.
-- Grain    that of the table
-- Reads    any_table
-- Params   $path
-- Privacy  SENSITIVE
copy any_table to $path (format parquet)
