-- prepared_day: the settings that the occupancy array of a day was written with.
-- Grain    one row per local_date
-- Privacy  a hash of the configuration, public
create table if not exists prepared_day (
    local_date date primary key,
    settings_hash varchar not null
)
