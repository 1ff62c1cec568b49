-- prepared_day: with which settings the occupancy array of a day was written.
-- Grain    one row per local_date
-- Privacy  a hash of the configuration, public
create table if not exists prepared_day (
    local_date date primary key,
    settings_hash varchar not null
)
