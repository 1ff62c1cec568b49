-- raw_record: the rows of one file, each with the local day it belongs to.
-- Grain    one row per readable row of the file that does not belong to a forgotten day
-- Reads    incoming, whole_hour
-- Params   $file_id; $file_date: the day the file is for, or null if each row's own time gives the day;
--          $dates, $starts, $ends: what was forgotten
-- Privacy  SENSITIVE
insert into raw_record by name
select
    $file_id::integer as file_id,
    row_number,
    coalesce($file_date::date, whole_hour.local_date, local_day(observed_at)) as local_date,
    user_id,
    observed_at,
    latitude,
    longitude,
    value,
    clock_shift
from incoming
left join whole_hour on whole_hour.number = epoch_us(observed_at) // 3600000000
where is_object
    and not was_forgotten(coalesce($file_date::date, whole_hour.local_date, local_day(observed_at)), observed_at, $dates, $starts, $ends)
