-- Writes what a worker's temporary warehouse holds in value_repair.
-- Grain    that of value_repair
-- Reads    value_repair
-- Params   $path
-- Privacy  SENSITIVE
copy value_repair to $path (format parquet)
