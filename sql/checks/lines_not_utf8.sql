-- Lines of the CSV file just read that are not UTF-8.
-- Grain    one row per such line
-- Reads    rejected_line, rejected_scan
-- Params   $path of the file
select min(line) as line_number
from rejected_line
where error_type = 'INVALID ENCODING' and scan_id in (select scan_id from rejected_scan where file_path = $path)
group by line_byte_position
order by line_number
