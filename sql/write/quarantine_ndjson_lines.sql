-- quarantine: the lines of an NDJSON file that are not JSON objects.
-- Grain    one row per line
-- Reads    incoming
-- Params   $file_id, $file_date
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select
    $file_id::integer as file_id,
    row_number as line_number,
    $file_date::date as local_date,
    'malformed_row' as reason
from incoming
where not is_object
