-- device_report: the reports of devices that are used.
-- Grain    one row per (period, round, device)
-- Units    estimate is in ticks; ballot has 0 or 1 for each bin
-- Privacy  randomised by the device before it was sent; kept private, because it names the device
create table if not exists device_report (
    period varchar not null,
    round integer not null,
    area varchar not null,
    device varchar not null,
    ballot varchar,
    estimate bigint
)
