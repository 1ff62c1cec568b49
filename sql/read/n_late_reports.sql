-- How many devices sent a report of a round after it was closed, each once in whatever files it is.
-- Grain    one row
-- Reads    late_report
-- Params   $period, $round
-- Privacy  a count of reports; public
select count(distinct device) as n_late
from late_report
where period = $period and round = $round
