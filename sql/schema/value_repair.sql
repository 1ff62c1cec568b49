-- value_repair: how many values of a day's records were missing or outside the bounds, and so were replaced.
-- Grain    one row per (local_date, repair)
-- Privacy  SENSITIVE: these counts depend on values, so they are not published, logged or shown
create table if not exists value_repair (
    local_date date not null,
    repair varchar not null,
    n_records bigint not null
)
