-- JSON pointers to members that no line has of the file just read, or of one of the files; few lines do not tell.
-- Grain    one row per such pointer
-- Reads    incoming, file_of_row
-- Params   $user, $time, $clock, $latitude, $longitude, $value: pointers; $fewest: how many lines of a file tell
with line as (
    select coalesce(which, 0) as which, members
    from incoming
    left join file_of_row on file_of_row.number = incoming.row_number
)

select distinct pointer
from (
    select which, unnest([$user, $time, $clock, $latitude, $longitude, $value]) as pointer
    from (select which from line group by which having count(*) >= $fewest)
)
where (which, pointer) not in (select (which, pointer) from (select distinct which, unnest(members) as pointer from line))
