-- quarantine: rows of files that belong to no day, because neither their time nor their file gives one.
-- Grain    one row per row
-- Reads    raw_record
-- Params   $file_ids
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select
    file_id,
    row_number,
    local_date,
    'time_unreadable' as reason
from raw_record
where file_id in $file_ids and local_date is null
