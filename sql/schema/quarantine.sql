-- quarantine: which rows are not used, and why; the rows themselves stay where they are.
-- Grain    one row per unused row: row_number points into raw_record, or line_number counts lines of the file
--          where the row could not be told apart into fields
-- Privacy  SENSITIVE: points at records
create table if not exists quarantine (
    file_id integer not null,
    row_number bigint,
    line_number bigint,
    local_date date,
    reason varchar not null
)
