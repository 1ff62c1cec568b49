-- The files of this name that were read with the current settings, each with one of its parts.
-- Grain    one row per file
-- Reads    raw_file, raw_part
-- Params   $name, $settings_hash
-- Privacy  public
select file_id, min(raw_part.name) as part
from raw_file
join raw_part using (file_id)
where raw_file.name = $name and settings_hash = $settings_hash
group by file_id
order by file_id
