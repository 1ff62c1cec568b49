-- Whether some files may hold rows of a released day that was not released from them; if not, nothing is late.
-- The rows of a file for one day are not read, because all of them are of that day.
-- Grain    one row if so
-- Reads    raw_file, held_row, released_file, released_day (each released day's last release)
-- Params   $file_ids
-- Privacy  SENSITIVE: reads private rows; returns only a day
select local_date
from (
    select file_id, file_date as local_date
    from raw_file
    where file_date is not null
    union all
    select file_id, local_date
    from held_row
    join raw_file using (file_id)
    where file_date is null
)
where file_id in $file_ids
    and local_date in (select local_date from released_day)
    and (local_date, file_id) not in (
        select (released_file.local_date, file_id)
        from released_file
        join released_day using (release_id)
    )
limit 1
