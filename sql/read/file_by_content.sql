-- Whether a file of this name and content was read as now.
-- Grain    one row if it was
-- Params   $name, $content_hash, $settings_hash
select file_id
from raw_file
where name = $name and content_hash = $content_hash and settings_hash = $settings_hash
