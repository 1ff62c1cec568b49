-- How many of the reports just judged are of devices without a report that is used, by file.
-- Grain    one row per file that has some
-- Reads    judged_report, device_report
-- Params   $period, $round: closed
-- Privacy  counts of reports; public
select file_name, count(*) as n_late
from judged_report
where
    reason is null
    and device not in (select device from device_report where period = $period and round = $round)
group by file_name
