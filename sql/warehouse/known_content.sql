-- Whether a file with this content was read, under any name.
-- Grain    one row if it was
-- Params   $content_hash
select file_id
from raw_file
where content_hash = $content_hash
