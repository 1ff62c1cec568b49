-- quarantine: the rows of a file that are not among those that count, each with the local day it belongs to.
-- Grain    one row per readable row that does not belong to a forgotten day
-- Reads    incoming, whole_hour, file_of_row
-- Params   $file_id; $n_before: rows of the file that were read before; $file_date: the day the file is for, or null
--          if each row's own time gives the day; $dates, $starts, $ends: what was forgotten
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select
    coalesce(file_of_row.file_id, $file_id)::integer as file_id,
    coalesce(file_of_row.row_number, incoming.row_number + $n_before) as line_number,
    coalesce($file_date::date, whole_hour.local_date, local_day(observed_at)) as local_date,
    'left_out' as reason
from incoming
left join file_of_row on file_of_row.number = incoming.row_number
left join whole_hour on whole_hour.number = epoch_us(observed_at) // 3600000000
where is_object and not is_among
    and not was_forgotten(coalesce($file_date::date, whole_hour.local_date, local_day(observed_at)), observed_at, $dates, $starts, $ends)
