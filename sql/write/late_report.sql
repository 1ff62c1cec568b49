-- late_report: the devices of the reports just judged that have no report that is used, in each file that has one.
-- If the database does not know which reports were used, the first are taken for them, by file name and line.
-- Grain    one row per (file_name, device)
-- Reads    judged_report, device_report
-- Params   $period, $round: closed; $n_used: how many reports were used, 0 if device_report has them
-- Privacy  kept private, because it names the device
insert into late_report
with taken_as_used as (
    select device
    from judged_report
    where reason is null
    order by file_name, line_number
    limit $n_used
)

select distinct $period as period, $round as round, file_name, device
from judged_report
where
    coalesce(reason, 'repeated') = 'repeated'
    and device not in (select device from device_report where period = $period and round = $round)
    and device not in (from taken_as_used)
