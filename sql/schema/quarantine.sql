-- quarantine: which rows are not used, and why. The rows themselves stay where they are.
-- Grain    one row per row that is not used; line_number counts the lines of the file where the row could not
--          be told apart, else row_number points into raw_record
-- Privacy  SENSITIVE: points at records
create table if not exists quarantine (
    file_id integer not null,
    row_number bigint,
    line_number bigint,
    local_date date,
    reason varchar not null
)
