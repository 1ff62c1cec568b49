-- Files for many days in which too large a share of rows cannot be read or has no day.
-- Grain    one row per such file
-- Reads    raw_file
-- Params   $file_ids, $limit: the largest allowed share
select name, n_malformed, n_undated, n_rows
from raw_file
where file_id in $file_ids
    and file_date is null
    and n_malformed + n_undated > $limit * n_rows
order by name
