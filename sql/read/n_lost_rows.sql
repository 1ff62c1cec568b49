-- How many rows of some files were malformed, of forgotten days, and not among those that count.
-- Grain    one row
-- Reads    raw_file, quarantine
-- Params   $file_ids
-- Privacy  counts of records, assumed public
select
    sum(n_malformed)::bigint as n_malformed,
    sum(n_forgotten)::bigint as n_forgotten,
    (select count(*) from quarantine where file_id in $file_ids and reason = 'left_out') as n_left_out
from raw_file
where file_id in $file_ids
