-- Files for many days in which too large a share of rows cannot be read or has no day; snapshots are judged together.
-- Grain    one row per such file, or one for all snapshots: the name is that of the one with the most such rows
-- Reads    raw_file, quarantine
-- Params   $file_ids, $limit: the largest allowed share; $are_snapshots: whether all are
-- Privacy  SENSITIVE
with other as (
    select file_id, count(*) as n_left_out
    from quarantine
    where file_id in $file_ids and reason = 'left_out'
    group by file_id
)

select
    arg_max(name, (n_malformed + n_undated, name)) as largest,
    sum(n_malformed)::bigint as malformed,
    sum(n_undated)::bigint as undated,
    sum(n_rows - coalesce(n_left_out, 0))::bigint as in_all,
    count(*) as n_files
from raw_file
left join other using (file_id)
where file_id in $file_ids and file_date is null
group by if($are_snapshots, 0, file_id)
having malformed + undated > $limit * in_all
order by largest
