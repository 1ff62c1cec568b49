-- device_report: the reports of a round that are used.
-- Grain    one row per device
-- Reads    judged_report
-- Params   $period, $round
-- Units    estimate is in ticks
-- Privacy  randomised by the device before it was sent; kept private, because it names the device
insert into device_report
select $period as period, $round as round, area, device, ballot, estimate
from judged_report
where reason is null
