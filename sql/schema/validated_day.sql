-- validated_day: how the valid records of a day are placed in slots, cells and ticks.
-- Grain    one row per local_date
-- Units    day_start is the first instant of the day; lower and tick are in the value's unit; a value of the source
--          times factor is in that unit; missing lists values of the source that mean "not measured"
-- Privacy  settings, public
create table if not exists validated_day (
    local_date date primary key,
    day_start timestamptz not null,
    slot_minutes bigint not null,
    h3_resolution integer not null,
    lower double not null,
    tick double not null,
    n_ticks bigint not null,
    factor double not null,
    missing double[] not null
)
