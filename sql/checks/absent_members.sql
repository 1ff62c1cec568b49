-- JSON pointers to members that no line of the NDJSON file just read has.
-- Grain    one row per such pointer
-- Reads    incoming
-- Params   $user, $time, $latitude, $longitude, $value: pointers
select pointer
from (select unnest([$user, $time, $latitude, $longitude, $value]) as pointer)
where pointer not in (select unnest(members) from incoming)
    and (select count(*) from incoming) > 0
