-- late_report: which devices sent a report after its round was closed, and in which files.
-- Grain    one row per (period, round, file_name, device)
-- Privacy  kept private, because it names the device
create table if not exists late_report (
    period varchar not null,
    round integer not null,
    file_name varchar not null,
    device varchar not null
)
