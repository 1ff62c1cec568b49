-- How many rows of one file were read, and how many were malformed, undated or forgotten, as held now.
-- Grain    one row
-- Reads    raw_file, held_row
-- Params   $file_id
-- Privacy  counts of records, assumed public
select
    n_rows,
    n_malformed,
    n_undated,
    n_rows - n_malformed - n_undated - (
        select coalesce(sum(held_row.n_rows), 0)
        from held_row
        where held_row.file_id = $file_id and local_date is not null
    )::bigint as n_forgotten
from raw_file
where file_id = $file_id
