-- How many rows of some files were read, and how many were malformed, undated or forgotten, as held now.
-- Grain    one row per file
-- Reads    raw_file, held_row
-- Params   $file_ids
-- Privacy  counts of records, assumed public
select
    file_id,
    any_value(raw_file.n_rows) as n_rows,
    any_value(n_malformed) as n_malformed,
    any_value(n_undated) as n_undated,
    any_value(raw_file.n_rows - n_malformed - n_undated)
        - (coalesce(sum(held_row.n_rows) filter (local_date is not null), 0))::bigint as n_forgotten
from raw_file
left join held_row using (file_id)
where file_id in $file_ids
group by file_id
