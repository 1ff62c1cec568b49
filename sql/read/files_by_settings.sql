-- All files that were read, with the hash of the settings.
-- Grain    one row per file
-- Reads    raw_file
-- Privacy  public
select file_id, file_date, settings_hash
from raw_file
