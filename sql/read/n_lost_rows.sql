-- How many rows of some files were malformed, and how many were of forgotten days.
-- Grain    one row
-- Reads    raw_file
-- Params   $file_ids
-- Privacy  counts of records, assumed public
select sum(n_malformed)::bigint as n_malformed, sum(n_forgotten)::bigint as n_forgotten
from raw_file
where file_id in $file_ids
