-- quarantine: the rows that are not used, and the reason; the rows themselves stay in their table or file.
-- Grain    one row per unused row: row_number points into raw_record; for a row that could not be split into fields,
--          line_number counts the lines of the file
-- Privacy  SENSITIVE: points at records
create table if not exists quarantine (
    file_id integer not null,
    row_number bigint,
    line_number bigint,
    local_date date,
    reason varchar not null
)
