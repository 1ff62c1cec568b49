-- The number of the next file: none that a file or the files of a release still have.
-- Grain    one row
-- Reads    raw_file, released_file
-- Privacy  public
select coalesce(max(file_id), 0) + 1 as file_id
from (
    select file_id from raw_file
    union all
    select file_id from released_file
)
