-- user_cell: the occupancy array, with what each user's records add up to.
-- Grain    one row per (local_date, slot_start, h3_cell, user_id)
-- Units    total_ticks sums value_ticks, of which n_missing are the midpoint in place of no value; total_squares sums
--          (2 value_ticks - n_ticks)^2, and is null if no variance is published
-- Privacy  SENSITIVE: the totals and n_missing; n_records is assumed public
create table if not exists user_cell (
    local_date date not null,
    slot_start timestamptz not null,
    h3_cell ubigint not null,
    user_id varchar not null,
    n_records bigint not null,
    total_ticks hugeint not null,
    total_squares hugeint,
    n_missing bigint not null
)
