-- derived_value: the speed of each record of one local day, from the same user's fix before.
-- There is none without a fix before. Fixes of one instant are in the order of files and rows.
-- Grain    one row per record of the day that has a user, a time and a place and is no duplicate
-- Reads    raw_record, raw_file, quarantined_record
-- Params   $date, $file_ids: the day's files; $fix_ids: these and the files of the day before; $first, $day_start,
--          $day_end in UTC: fixes begin at $first; $longest_gap in microseconds; $per_metre_a_second: of the unit
-- Units    value is in the unit that is published
-- Privacy  SENSITIVE: places inside hexagons decide on values alone
insert into derived_value by name
with fix as (
    select
        raw_record.file_id,
        row_number,
        local_date,
        observed_at,
        radians(latitude) as latitude,
        radians(longitude) as longitude,
        epoch_us(observed_at) - epoch_us(lag(observed_at) over same) as gap,
        lag(radians(latitude)) over same as latitude_before,
        lag(radians(longitude)) over same as longitude_before
    from raw_record
    join raw_file using (file_id)
    anti join (select * from quarantined_record where reason = 'duplicate') as repeated
        on repeated.file_id = raw_record.file_id
        and repeated.row_number = raw_record.row_number
    where raw_record.file_id in $fix_ids
        and observed_at >= $first and observed_at < $day_end
        and user_id is not null and clock_shift is null
        and latitude between -90 and 90 and longitude between -180 and 180
        and (latitude <> 0 or longitude <> 0)
    window same as (partition by user_id order by observed_at, name, raw_record.file_id, row_number)
)

select
    local_date,
    file_id,
    row_number,
    speed_of(latitude, longitude, latitude_before, longitude_before, gap, $longest_gap, $per_metre_a_second) as value
from fix
where local_date = $date and file_id in $file_ids and observed_at >= $day_start
