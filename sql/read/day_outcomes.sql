-- How many rows of one local day were kept or quarantined, by reason, from its quarantine.
-- Grain    one row per reason; the reason 'kept' counts the valid records
-- Reads    quarantine
-- Params   $date, $file_ids, $n_kept: the valid records
-- Privacy  counts of records, assumed public; no rule looks at a value
select 'kept' as reason, $n_kept::bigint as n_rows
union all
select reason, count(*) as n_rows
from quarantine
where local_date = $date and file_id in $file_ids
group by reason
order by n_rows desc, reason
