-- Whether any row of some files is of a released day that was not released from its file: else nothing can be late.
-- Grain    one row if there is any
-- Reads    held_row, released_file, and released_day: each released day's last release
-- Params   $file_ids
-- Privacy  SENSITIVE: reads private rows; tells a day
select local_date
from held_row
where file_id in $file_ids
    and local_date in (select local_date from released_day)
    and (local_date, file_id) not in (
        select (released_file.local_date, file_id)
        from released_file
        join released_day using (release_id)
    )
limit 1
