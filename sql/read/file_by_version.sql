-- The ids of the files that were seen at these paths in these versions, if they were read with these settings.
-- Grain    one row per file that was given; file_id is null if it was not read
-- Reads    seen_file; wanted: the files, each with its number, path, version and settings_hash
-- Privacy  public
select file_id
from wanted
left join seen_file using (path, version, settings_hash)
order by number
