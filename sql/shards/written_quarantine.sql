-- Writes what a worker's temporary warehouse holds in quarantine.
-- Grain    that of quarantine
-- Reads    quarantine
-- Params   $path
-- Privacy  SENSITIVE
copy quarantine to $path (format parquet)
