-- The files of a round as they were when their late reports were counted last.
-- Grain    one row per file
-- Reads    seen_report_file
-- Params   $period, $round
-- Privacy  counts of reports; public
select file_name, n_bytes, changed_ns, n_late
from seen_report_file
where period = $period and round = $round
