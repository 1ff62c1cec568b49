-- Whether the database holds the reports that a round used.
-- Grain    one row if so
-- Reads    device_report
-- Params   $period, $round
-- Privacy  public
select 1
from device_report
where period = $period and round = $round
limit 1
