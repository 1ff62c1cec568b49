-- prepared_count: stores how many rows of one local day were kept or quarantined.
-- Grain    one row per reason
-- Reads    user_cell (its records are the valid ones), quarantine, validated_file
-- Params   $date
-- Privacy  counts of records, assumed public; no rule looks at a value
insert into prepared_count by name
select
    $date::date as local_date,
    reason,
    n_rows
from (
    select 'kept' as reason, coalesce(sum(n_records), 0) as n_rows
    from user_cell
    where local_date = $date
    union all
    select reason, count(*)
    from quarantine
    where local_date = $date and file_id in (select file_id from validated_file where local_date = $date)
    group by reason
)
