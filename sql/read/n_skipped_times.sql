-- How many times of a sample the clock of their zone skipped, where they have no offset.
-- Grain    one row
-- Reads    source_time: the times as they are written
-- Params   $micros, $time_format: of times, see instant_of
-- Privacy  of times alone, assumed public
select count(*) as n_times
from source_time
where clock_shift(naive_micros(written, $micros, $time_format)) > 0
