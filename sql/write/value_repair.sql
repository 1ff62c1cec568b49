-- value_repair: how many of one local day's values were missing or outside the bounds.
-- Grain    one row per (local_date, repair)
-- Reads    raw_record, derived_value, quarantined_record
-- Params   $date, $file_ids, $lower, $upper in the value's unit, $factor, $missing in the source's unit
-- Privacy  SENSITIVE: these counts depend on values
insert into value_repair by name
with valid as (
    select local_date, coalesce(derived_value.value, raw_record.value) as value
    from raw_record
    left join derived_value using (local_date, file_id, row_number)
    anti join quarantined_record using (file_id, row_number)
    where local_date = $date and file_id in $file_ids
)

select
    local_date,
    case
        when means_missing(value, $missing) then 'missing'
        when value * $factor < $lower then 'below_lower'
        else 'above_upper'
    end as repair,
    count(*) as n_records
from valid
where means_missing(value, $missing) or value * $factor < $lower or value * $factor > $upper
group by all
