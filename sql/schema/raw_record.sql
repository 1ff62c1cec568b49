-- raw_record: every row that could be told apart in an input file, before any rule.
-- Grain    one row per (file_id, row_number); row_number counts the readable rows of the file from 1
-- Units    value is in the source's unit; null where it is missing or not a number
-- Privacy  SENSITIVE: never leaves the warehouse
create table if not exists raw_record (
    file_id integer not null,
    row_number bigint not null,
    local_date date,
    user_id varchar,
    observed_at timestamptz,
    latitude double,
    longitude double,
    value double
)
