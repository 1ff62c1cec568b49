-- raw_record: every row of an input file that could be told apart into fields, before any rule.
-- One compression is named where it suits every file: otherwise the engine tries all of them on each row group. Dates
-- have none: those of files of many days in random order take much more room as runs.
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
