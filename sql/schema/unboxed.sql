-- unboxed: the hexagons of records that lie in no box. Any may be missing.
-- Grain    one row per (file_id, row_number)
-- Privacy  SENSITIVE: a temporary table
create or replace temp table unboxed (
    file_id integer not null,
    row_number bigint not null,
    h3_resolution integer not null,
    h3_cell ubigint not null
)
