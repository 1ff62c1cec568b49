-- The id for the next file: larger than every id that a file or a release still uses.
-- Grain    one row
-- Reads    raw_file, released_file
-- Privacy  public
select coalesce(max(file_id), 0) + 1 as file_id
from (
    select file_id from raw_file
    union all
    select file_id from released_file
)
