-- counted_report_file: a file whose late reports were counted.
-- Grain    one row per file
-- Params   $period, $round, $file_name, $n_bytes, $changed_ns
-- Privacy  names of files; public
insert into counted_report_file
values ($period, $round, $file_name, $n_bytes, $changed_ns)
