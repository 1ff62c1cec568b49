-- quarantine: the rows of a file that are no records: no JSON objects, or no entities of a feed that can be decoded.
-- Grain    one row per row of the file
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
