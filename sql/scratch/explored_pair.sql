-- explored_pair: the occupancy array that a validated day would have in hexagons of another resolution. Reads no value.
-- Slots are counted from local midnight; short ones, of which longer slots are made.
-- Grain    one row per (slot_start, h3_cell, user_id)
-- Reads    raw_record, validated_day, validated_file, quarantine
-- Params   $date; $h3_resolution; $slot_minutes
-- Privacy  SENSITIVE: ids never leave the warehouse; the rest is assumed public
create or replace temp table explored_pair as
select
    make_timestamptz(
        epoch_us(observed_at) - (epoch_us(observed_at) - epoch_us(day_start)) % ($slot_minutes::bigint * 60000000)
    ) as slot_start,
    hexagon_of(place_cell, latitude, longitude, $h3_resolution) as h3_cell,
    user_id,
    count(*) as n_records
from raw_record
cross join (select day_start from validated_day where local_date = $date) as placed
anti join (select * from quarantine where local_date = $date) as rejected
    on rejected.file_id = raw_record.file_id
    and rejected.row_number = raw_record.row_number
where raw_record.local_date = $date
    and raw_record.file_id in (select file_id from validated_file where local_date = $date)
group by all
