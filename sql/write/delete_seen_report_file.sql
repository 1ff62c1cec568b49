-- seen_report_file: a file's row, before it is written anew.
-- Grain    one row per file
-- Params   $period, $round, $file_name
-- Privacy  counts of reports; public
delete from seen_report_file
where period = $period and round = $round and file_name = $file_name
