-- device_report: the rows of a round, before they are written anew.
-- Grain    one row per (period, round, device)
-- Params   $period, $round
-- Privacy  kept private, because it names the device
delete from device_report
where period = $period and round = $round
