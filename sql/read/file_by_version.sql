-- The id of the file that was seen at this path in this version, if it was read with these settings.
-- Grain    one row if it was
-- Reads    seen_file
-- Params   $path, $version, $settings_hash
-- Privacy  public
select file_id
from seen_file
where path = $path and version = $version and settings_hash = $settings_hash
