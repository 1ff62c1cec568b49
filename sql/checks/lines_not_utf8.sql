-- Lines of the CSV file just read that are not UTF-8.
-- Grain    one row per such line
-- Reads    rejected_line
select min(line) as line_number
from rejected_line
where error_type = 'INVALID ENCODING'
group by line_byte_position
order by line_number
