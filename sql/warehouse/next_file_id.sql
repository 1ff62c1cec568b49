-- The number of the next file.
-- Grain    one row
-- Reads    raw_file
select coalesce(max(file_id), 0) + 1 as file_id
from raw_file
