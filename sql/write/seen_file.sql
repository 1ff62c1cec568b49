-- seen_file: stores where the contents of files were seen, and in which version.
-- Grain    one row per file
-- Reads    seen: their path, version, settings_hash and file_id
-- Privacy  public
insert or ignore into seen_file by name
select path, version, settings_hash, file_id
from seen
