-- quarantine: the lines of a CSV file that do not have the right number of fields.
-- Grain    one row per line
-- Reads    rejected_line
-- Params   $file_id, $file_date
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select
    $file_id::integer as file_id,
    min(line)::bigint as line_number,
    $file_date::date as local_date,
    'malformed_row' as reason
from rejected_line
group by line_byte_position
