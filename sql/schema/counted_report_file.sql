-- counted_report_file: a file of reports as it was when its late reports were counted last.
-- Grain    one row per (period, round, file_name) of a round that is closed
-- Privacy  names of files; public
create table if not exists counted_report_file (
    period varchar not null,
    round integer not null,
    file_name varchar not null,
    n_bytes bigint not null,
    changed_ns bigint not null
)
