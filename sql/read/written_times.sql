-- The times of some records of which each has two texts, as the readers of files join them.
-- Grain    one row per record, in their order
-- Params   $first, $second: the texts, each a list; $time_format: the declared form, or null
-- Privacy  of times alone, assumed public
select written_time(first, second, $time_format) as written
from (select unnest($first::varchar[]) as first, unnest($second::varchar[]) as second)
