-- record: the valid records of one local day, placed in a cell and counted in ticks.
-- Grain    one row per record
-- Reads    raw_record, unused
-- Params   $date, $file_ids, $day_start in UTC, $slot_minutes, $h3_resolution, $lower and $tick in the value's unit, $n_ticks
-- Units    value_ticks: a missing value counts as the midpoint, one outside the bounds as the nearer bound
-- Privacy  SENSITIVE. Slots are counted from local midnight, so a day of 23 or 25 hours has whole slots
insert into record by name
select
    local_date,
    make_timestamptz(
        epoch_us(observed_at) - (epoch_us(observed_at) - epoch_us($day_start)) % ($slot_minutes * 60000000::bigint)
    ) as slot_start,
    h3_cell(latitude, longitude, $h3_resolution) as h3_cell,
    user_id,
    case
        when value is null or isnan(value) then $n_ticks // 2
        else least(greatest(round((value - $lower) / $tick), 0), $n_ticks)
    end::bigint as value_ticks
from raw_record
anti join unused using (file_id, row_number)
where local_date = $date and file_id in $file_ids
