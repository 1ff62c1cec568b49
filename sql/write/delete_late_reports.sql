-- late_report: the rows of a file, before they are written anew.
-- Grain    one row per device
-- Params   $period, $round, $file_name
-- Privacy  kept private, because it names the device
delete from late_report
where period = $period and round = $round and file_name = $file_name
