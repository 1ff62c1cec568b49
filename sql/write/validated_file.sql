-- validated_file: stores the files that hold rows of one local day, also such as do not count, or are for it.
-- Grain    one row per file
-- Reads    raw_file, held_row, quarantine
-- Params   $date, $file_ids
-- Privacy  SENSITIVE: reads private rows; writes public ones
insert into validated_file by name
select $date::date as local_date, file_id
from raw_file
where file_id in $file_ids
    and (
        file_date = $date
        or file_id in (
            select distinct file_id
            from held_row
            where local_date = $date and file_id in (select file_id from raw_file where file_date is null)
        )
        or file_id in (select file_id from quarantine where local_date = $date and reason = 'left_out')
    )
