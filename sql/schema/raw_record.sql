-- raw_record: every row that could be told apart in an input file, before any rule. Where one compression suits every file
-- well enough it is said: the engine would try all of them on each row group. Dates are left to it: of files of many days
-- in random order they take much more room as runs.
-- Grain    one row per (file_id, row_number); row_number counts the readable rows of the file from 1
-- Units    value is in the source's unit; null where it is missing or not a number
-- Privacy  SENSITIVE: never leaves the warehouse
create table if not exists raw_record (
    file_id integer not null using compression rle,
    row_number bigint not null using compression bitpacking,
    local_date date,
    user_id varchar,
    observed_at timestamptz using compression bitpacking,
    latitude double,
    longitude double,
    value double
)
