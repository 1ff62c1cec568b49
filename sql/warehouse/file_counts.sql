-- What became of the rows of one file when it was read.
-- Grain    one row
-- Reads    raw_file
-- Params   $file_id
-- Privacy  counts of records, assumed public
select n_rows, n_malformed, n_undated, n_forgotten
from raw_file
where file_id = $file_id
