-- The reports of a round that are used, for the contract.
-- Grain    one row per device
-- Reads    device_report
-- Params   $period, $round
-- Units    estimate is in ticks
-- Privacy  randomised by the device; kept private, because it names the device
select area, device, ballot, estimate
from device_report
where period = $period and round = $round
