-- Lines of the CSV file just read where a quote does not close, so that the lines after it were swallowed.
-- Grain    one row per such line
-- Reads    rejected_line
select min(line) as line_number
from rejected_line
where error_type = 'UNQUOTED VALUE' and contains(trim(csv_line, chr(10) || chr(13)), chr(10))
group by line_byte_position
order by line_number
