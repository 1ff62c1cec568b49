-- derived_value: the values of one day's records that follow from their places, if columns.value says so.
-- Grain    one row per record that has one
-- Units    value is in the unit that is published; null if it is missing
-- Privacy  SENSITIVE: it follows from places inside hexagons, which are private then
create table if not exists derived_value (
    local_date date not null,
    file_id integer not null,
    row_number bigint not null,
    value double
)
