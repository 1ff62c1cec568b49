-- user_cell_bin: how many of each user's records in a cell are in each bin, if percentiles or shares are published.
-- Grain    one row per (local_date, slot_start, h3_cell, user_id, value_bin)
-- Units    value_bin is 0 for 0 ticks, else 100 value_ticks / n_ticks, rounded up; a missing value is in no bin
-- Privacy  SENSITIVE: never leaves the warehouse
create table if not exists user_cell_bin (
    local_date date not null,
    slot_start timestamptz not null,
    h3_cell ubigint not null,
    user_id varchar not null,
    value_bin utinyint not null,
    n_values bigint not null
)
