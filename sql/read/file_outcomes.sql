-- How many rows of some files were read, and how many were malformed, undated, left out or forgotten, as held now.
-- Grain    one row per file
-- Reads    raw_file, held_row, quarantine
-- Params   $file_ids
-- Privacy  counts of records, assumed public
with other as (
    select file_id, count(*) as n_left_out
    from quarantine
    where file_id in $file_ids and reason = 'left_out'
    group by file_id
),

held as (
    select file_id, sum(n_rows)::bigint as n_held
    from held_row
    where file_id in $file_ids and local_date is not null
    group by file_id
)

select
    file_id,
    n_rows,
    n_malformed,
    n_undated,
    coalesce(n_left_out, 0) as n_left_out,
    n_rows - n_malformed - n_undated - coalesce(n_left_out, 0) - coalesce(n_held, 0) as n_forgotten
from raw_file
left join held using (file_id)
left join other using (file_id)
where file_id in $file_ids
