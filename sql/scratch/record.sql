-- record(): the valid records of one validated day, with their cells, and their values in ticks.
-- It is not a table: to place records again costs less than to store them twice. Slots are counted from local midnight,
-- so a day of 23 or 25 hours has whole slots. The one row of settings is not joined by its day: the engine would then
-- expect few records, and keep them in memory instead of the records in quarantine.
-- Grain    one row per record of the day that is its argument
-- Reads    raw_record, derived_value, validated_day, validated_file, quarantine, box
-- Params   date; apart: whether h3_cell stays null if no box gives it, because the caller finds many at once
-- Units    value_ticks = (value factor - lower) / tick, from 0 to n_ticks: a missing value counts as the midpoint,
--          and a value outside the bounds as the nearer bound; was_missing says which values were missing
-- Privacy  SENSITIVE: never leaves the warehouse
create or replace temp macro record(date, apart := false) as table
select
    make_timestamptz(
        epoch_us(observed_at) - (epoch_us(observed_at) - epoch_us(day_start)) % (slot_minutes * 60000000)
    ) as slot_start,
    coalesce(
        case when side > 1 then boxed_cell when side < -1 then beyond end,
        case when not apart then hexagon_of(place_cell, latitude, longitude, h3_resolution) end
    ) as h3_cell,
    latitude,
    longitude,
    user_id,
    case
        when was_missing then n_ticks // 2
        when in_unit <= lower then 0
        else least(round((in_unit - lower) / tick), n_ticks)::bigint
    end as value_ticks,
    was_missing
from (
    select
        raw_record.*,
        coalesce(derived.value, raw_record.value) * factor as in_unit,
        means_missing(coalesce(derived.value, raw_record.value), missing) as was_missing,
        placed.* exclude (local_date),
        box.h3_cell as boxed_cell,
        beyond,
        per_latitude * latitude + per_longitude * longitude + at_zero as side
    from raw_record
    cross join (
        select *, boxes_per_degree(h3_resolution) as per_degree from validated_day where local_date = date
    ) as placed
    left join box
        on box.h3_resolution = placed.h3_resolution
        and box.lat_box = try_cast(floor(latitude * per_degree) as integer)
        and box.lon_box = try_cast(floor(longitude * per_degree) as integer)
    left join (select file_id, row_number, value from derived_value where local_date = date) as derived
        on derived.file_id = raw_record.file_id
        and derived.row_number = raw_record.row_number
    anti join (select * from quarantine where local_date = date) as rejected
        on rejected.file_id = raw_record.file_id
        and rejected.row_number = raw_record.row_number
    where raw_record.local_date = date
        and raw_record.file_id in (select file_id from validated_file where local_date = date)
)
