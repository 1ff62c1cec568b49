-- refused_report: the lines that are not used, and why.
-- Grain    one row per unused line of the files of a (period, round)
-- Privacy  points at lines that devices sent; kept private
create table if not exists refused_report (
    period varchar not null,
    round integer not null,
    file_name varchar not null,
    line_number bigint not null,
    reason varchar not null
)
