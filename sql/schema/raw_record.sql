-- raw_record: every row that could be told apart in an input file, before any rule.
-- Grain    one row per (file_id, row_number); row_number counts the readable rows of the file from 1
-- Units    value is in the source's unit; null where it is missing or not a number
-- Privacy  SENSITIVE: never leaves the warehouse. Which compression suits is said where it is known, since the engine would
--          try them all on each column as it writes
create table if not exists raw_record (
    file_id integer not null using compression rle,
    row_number bigint not null using compression bitpacking,
    local_date date using compression rle,
    user_id varchar,
    observed_at timestamptz using compression bitpacking,
    latitude double,
    longitude double,
    value double
)
