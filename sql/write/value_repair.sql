-- value_repair: how many of one local day's values were missing or outside the bounds.
-- Grain    one row per (local_date, repair)
-- Reads    raw_record, quarantined_record
-- Params   $date, $file_ids, $lower, $upper in the value's unit
-- Privacy  SENSITIVE: these counts depend on values
insert into value_repair by name
select
    local_date,
    case
        when value is null or isnan(value) then 'missing'
        when value < $lower then 'below_lower'
        else 'above_upper'
    end as repair,
    count(*) as n_records
from raw_record
anti join quarantined_record using (file_id, row_number)
where local_date = $date and file_id in $file_ids
    and (value is null or isnan(value) or value < $lower or value > $upper)
group by all
