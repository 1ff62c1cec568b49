-- raw_record: every row of an input file that could be split into fields, before any rule.
-- A column has a fixed compression if one suits every file; otherwise the engine tries all of them on each row group.
-- Dates have no fixed one: in files with many days in random order, run-length encoding takes much more space.
-- Grain    one row per (file_id, row_number); row_number counts the readable rows of the file from 1
-- Units    value is in the source's unit; null if it is missing or not a number. clock_shift is null, or by how many
--          microseconds the clock went forward where the time is: then it was skipped, or, below 0, was twice.
--          place_cell is the cell that the file has in place of a position; latitude and longitude are then its middle
-- Privacy  SENSITIVE: never leaves the warehouse
create table if not exists raw_record (
    file_id integer not null using compression rle,
    row_number bigint not null using compression bitpacking,
    local_date date,
    user_id varchar,
    observed_at timestamptz using compression bitpacking,
    latitude double,
    longitude double,
    value double,
    clock_shift bigint,
    place_cell ubigint
)
