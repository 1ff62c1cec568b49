-- The files that held rows of some local days.
-- Grain    one row per name
-- Reads    raw_file, raw_record
-- Params   $dates
-- Privacy  names of files, public
select distinct name
from raw_file
join raw_record using (file_id)
where local_date in $dates
order by name
