-- JSON pointers to members that no line has of the NDJSON file just read, or of one of the files.
-- Grain    one row per such pointer
-- Reads    incoming, file_of_row
-- Params   $user, $time, $clock, $latitude, $longitude, $value: pointers
with line as (
    select coalesce(which, 0) as which, members
    from incoming
    left join file_of_row on file_of_row.number = incoming.row_number
)

select distinct pointer
from (select distinct which, unnest([$user, $time, $clock, $latitude, $longitude, $value]) as pointer from line)
where (which, pointer) not in (select (which, pointer) from (select distinct which, unnest(members) as pointer from line))
