-- The ids of the files with these names and contents, if they were read with these settings.
-- Grain    one row per file that was given; file_id is null if it was not read
-- Reads    raw_file; wanted: the files, each with its number, name, content_hash and settings_hash
-- Privacy  SENSITIVE: whether content is known depends on values
select file_id
from wanted
left join raw_file using (name, content_hash, settings_hash)
order by number
