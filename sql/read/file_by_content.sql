-- The id of the file with this name and content, if it was read with these settings.
-- Grain    one row if it was
-- Reads    raw_file
-- Params   $name, $content_hash, $settings_hash
-- Privacy  SENSITIVE: whether content is known depends on values
select file_id
from raw_file
where name = $name and content_hash = $content_hash and settings_hash = $settings_hash
