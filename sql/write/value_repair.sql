-- value_repair: how many of one local day's values were missing or outside the bounds.
-- Such values are few, so they are found before it is looked up whether their records are valid.
-- Grain    one row per (local_date, repair)
-- Reads    raw_record, derived_value, quarantined_record
-- Params   $date, $file_ids, $lower, $upper in the value's unit, $factor, $missing in the source's unit
-- Privacy  SENSITIVE: these counts depend on values
insert into value_repair by name
with repaired as (
    select
        file_id,
        row_number,
        local_date,
        case
            when means_missing(value, $missing) then 'missing'
            when value * $factor < $lower then 'below_lower'
            when value * $factor > $upper then 'above_upper'
        end as repair
    from (
        select raw_record.* replace (coalesce(derived_value.value, raw_record.value) as value)
        from raw_record
        left join derived_value using (local_date, file_id, row_number)
        where local_date = $date and file_id in $file_ids
    )
    where repair is not null
)

select local_date, repair, count(*) as n_records
from repaired
anti join quarantined_record using (file_id, row_number)
group by all
