-- The local day of each time of a sample, read as the readers of files read it; null if it cannot be read.
-- Grain    one row per time, in their order
-- Reads    source_time: the times as they are written
-- Params   $micros, $time_format: of times, see instant_of
-- Privacy  of times alone, assumed public
with timed as (
    select number, instant_of(written, $micros, $time_format) as instant
    from source_time
)

select local_day(readable_time(instant)) as local_date
from timed
order by number
