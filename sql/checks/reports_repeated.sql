-- Whether two reports of a device are used in a round.
-- Grain    one row if so
-- Reads    device_report
-- Params   $period, $round
-- Privacy  public
select 1
from device_report
where period = $period and round = $round
having count(*) > count(distinct device)
