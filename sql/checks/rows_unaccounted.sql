-- Whether a file's rows do not add up: rows read = rows held + malformed and left out + rows of forgotten days.
-- Grain    one row if so
-- Reads    raw_file, held_row, quarantine
-- Params   $file_id
select raw_file.file_id
from raw_file
where raw_file.file_id = $file_id
    and n_rows <> (select coalesce(sum(held_row.n_rows), 0) from held_row where held_row.file_id = $file_id)
        + n_forgotten
        + (select count(*) from quarantine where quarantine.file_id = $file_id and reason in ('malformed_row', 'left_out'))
