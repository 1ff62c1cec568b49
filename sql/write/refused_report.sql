-- refused_report: the lines of a round that are not used.
-- Grain    one row per unused line
-- Reads    judged_report
-- Params   $period, $round
-- Privacy  points at lines that devices sent
insert into refused_report
select $period as period, $round as round, file_name, line_number, reason
from judged_report
where reason is not null
