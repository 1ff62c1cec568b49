-- The files that one local day's occupancy array was made from, each with its total number of rows.
-- Grain    one row per file
-- Reads    prepared_file, raw_file
-- Params   $date
-- Privacy  SENSITIVE: content_hash depends on values
select name, content_hash, n_rows
from prepared_file
join raw_file using (file_id)
where local_date = $date
order by name, file_id
