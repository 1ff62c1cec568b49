-- How many lines of a round are not used, by reason.
-- Grain    one row per reason
-- Reads    refused_report
-- Params   $period, $round
-- Privacy  counts of lines; public
select reason, count(*) as n_lines
from refused_report
where period = $period and round = $round
group by reason
order by reason
