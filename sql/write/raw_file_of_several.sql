-- raw_file: stores files that were read at once; what is not held, nor in quarantine, was of a forgotten day.
-- Grain    one row per file
-- Reads    new_file: the files, with the rows that were counted; raw_record, quarantine
-- Privacy  SENSITIVE: content_hash depends on values
insert into raw_file by name
with held as (
    select file_id, count(*) as n_held
    from raw_record
    where file_id in (select file_id from new_file)
    group by file_id
),

lost as (
    select
        file_id,
        count(*) filter (reason = 'malformed_row') as n_malformed,
        count(*) filter (reason = 'time_unreadable') as n_undated,
        count(*) filter (reason = 'left_out') as n_left_out
    from quarantine
    where file_id in (select file_id from new_file)
    group by file_id
)

select
    new_file.*,
    coalesce(n_malformed, 0) as n_malformed,
    coalesce(n_undated, 0) as n_undated,
    n_rows - coalesce(n_held, 0) - coalesce(n_malformed, 0) - coalesce(n_left_out, 0) as n_forgotten
from new_file
left join held using (file_id)
left join lost using (file_id)
