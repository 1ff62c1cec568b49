-- seen_report_file: a file whose late reports were counted.
-- Grain    one row per file
-- Params   $period, $round, $file_name, $n_bytes, $changed_ns, $n_late
-- Privacy  counts of reports; public
insert into seen_report_file
values ($period, $round, $file_name, $n_bytes, $changed_ns, $n_late)
