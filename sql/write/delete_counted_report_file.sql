-- counted_report_file: a file's row, before it is written anew.
-- Grain    one row per file
-- Params   $period, $round, $file_name
-- Privacy  names of files; public
delete from counted_report_file
where period = $period and round = $round and file_name = $file_name
