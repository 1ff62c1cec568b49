-- All files that were read, with the settings they were read with.
-- Grain    one row per file
-- Reads    raw_file
-- Privacy  public
select file_id, file_date, settings_hash
from raw_file
