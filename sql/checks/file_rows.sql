-- Files whose rows do not add up: rows read = rows in raw_record + malformed rows in
-- quarantine + rows of forgotten days.
-- Grain    one row per offending file
-- Reads    raw_file, raw_record, quarantine
-- Params   $file_id
select raw_file.file_id
from raw_file
where raw_file.file_id = $file_id
    and n_rows <> (select count(*) from raw_record where raw_record.file_id = $file_id)
        + n_forgotten
        + (select count(*) from quarantine where quarantine.file_id = $file_id and reason = 'malformed_row')
