-- Id and name of some files.
-- Grain    one row per file
-- Reads    raw_file
-- Params   $file_ids
-- Privacy  public
select file_id, name
from raw_file
where file_id in $file_ids
order by file_id
