-- record: the valid records, placed in a cell and counted in ticks.
-- Grain    one row per record
-- Units    value_ticks = (value - lower) / tick, from 0 to (upper - lower) / tick
-- Privacy  SENSITIVE: never leaves the warehouse
create table if not exists record (
    local_date date not null,
    slot_start timestamptz not null,
    h3_cell ubigint not null,
    user_id varchar not null,
    value_ticks bigint not null
)
