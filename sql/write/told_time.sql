-- raw_record: puts the times that were twice into the hour that is told, with the local day of it.
-- Grain    one row is changed per such time
-- Reads    told_time
-- Params   $file_id; $file_date: the day the file is for, or null
-- Privacy  of times alone, assumed public
update raw_record set
    observed_at = told_time.observed_at,
    local_date = coalesce($file_date::date, local_day(told_time.observed_at)),
    clock_shift = null
from told_time
where raw_record.file_id = $file_id and raw_record.row_number = told_time.row_number
