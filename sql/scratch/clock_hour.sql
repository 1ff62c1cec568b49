-- clock_hour: the hours near a change of the clock, in which a time without an offset may be doubtful.
-- The longest change is by a day.
-- Grain    one row per number
-- Privacy  public
create or replace temp table clock_hour as
select distinct unnest(generate_series(change[1] // 3600000000 - 49, change[2] // 3600000000 + 49)) as number
from (select unnest(getvariable('clock_changes')::bigint[][]) as change)
