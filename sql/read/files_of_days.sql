-- The files that held rows of some local days, also such as do not count.
-- Grain    one row per file
-- Reads    raw_file, held_row, quarantine
-- Params   $dates
-- Privacy  names of files, public
select file_id, name
from raw_file
where file_date in $dates
    or file_id in (select file_id from held_row where local_date in $dates)
    or file_id in (select file_id from quarantine where local_date in $dates and reason = 'left_out')
order by name, file_id
