-- quarantine: the rows of a file that are no records: no JSON objects, or no entities of a feed that can be decoded.
-- Grain    one row per row of the file
-- Reads    incoming, file_of_row
-- Params   $file_id, $n_before, $file_date
-- Privacy  SENSITIVE: points at records
insert into quarantine by name
select
    coalesce(file_of_row.file_id, $file_id)::integer as file_id,
    coalesce(file_of_row.row_number, incoming.row_number + $n_before) as line_number,
    $file_date::date as local_date,
    'malformed_row' as reason
from incoming
left join file_of_row on file_of_row.number = incoming.row_number
where not is_object
