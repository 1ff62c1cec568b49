-- The number of the next file; numbers of forgotten files are not given again.
-- Grain    one row
-- Reads    raw_file, released_file
-- Privacy  public
select coalesce(max(file_id), 0) + 1 as file_id
from (
    select file_id from raw_file
    union all
    select file_id from released_file
)
