-- The estimates of round 2 added up by area, as texts because they are exact.
-- Grain    one row per area
-- Reads    device_report
-- Params   $period
-- Units    total in ticks, squares in ticks squared
-- Privacy  sums of what devices randomised; public
select
    area,
    count(*) as n_reports,
    sum(estimate)::varchar as total,
    sum(estimate::hugeint * estimate)::varchar as squares
from device_report
where period = $period and round = 2
group by area
order by area
