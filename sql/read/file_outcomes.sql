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
)

select
    file_id,
    any_value(raw_file.n_rows) as n_rows,
    any_value(n_malformed) as n_malformed,
    any_value(n_undated) as n_undated,
    coalesce(any_value(n_left_out), 0) as n_left_out,
    any_value(raw_file.n_rows - n_malformed - n_undated - coalesce(n_left_out, 0))
        - (coalesce(sum(held_row.n_rows) filter (local_date is not null), 0))::bigint as n_forgotten
from raw_file
left join held_row using (file_id)
left join other using (file_id)
where file_id in $file_ids
group by file_id
