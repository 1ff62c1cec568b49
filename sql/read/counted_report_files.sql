-- The files of a round as they were when their late reports were counted last.
-- Grain    one row per file
-- Reads    counted_report_file
-- Params   $period, $round
-- Privacy  names of files; public
select file_name, n_bytes, changed_ns
from counted_report_file
where period = $period and round = $round
