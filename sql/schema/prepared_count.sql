-- prepared_count: how many rows of a day were kept or quarantined when its occupancy array was made.
-- Grain    one row per (local_date, reason); the reason 'kept' counts the valid records
-- Privacy  counts of records, assumed public; no rule looks at a value
create table if not exists prepared_count (
    local_date date not null,
    reason varchar not null,
    n_rows bigint not null
)
