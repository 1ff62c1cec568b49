-- quarantine: the lines of a CSV file that do not have the right number of fields.
-- Grain    one row per line
-- Reads    rejected_line and rejected_scan, which keep those of earlier reads; file_part
-- Params   $path of the file just read, $file_id, $n_before, $file_date
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select
    coalesce(any_value(file_part.file_id), $file_id)::integer as file_id,
    coalesce(any_value(file_part.n_before) - any_value(file_part.line), $n_before) + min(rejected_line.line)::bigint as line_number,
    $file_date::date as local_date,
    'malformed_row' as reason
from rejected_line
asof left join file_part on line_byte_position > first_byte
where scan_id in (select scan_id from rejected_scan where file_path = $path)
group by line_byte_position
