-- json_text: the lines of a day's NDJSON files. For documents the records that were split take its place.
-- Grain    one row per line that is not empty
-- Reads    the files of the variable paths, by lines_of
-- Privacy  SENSITIVE
create or replace temp view json_text as
select line
from lines_of(getvariable('paths'), false)
