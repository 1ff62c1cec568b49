-- How many values of a local day were missing or outside the bounds.
-- Grain    one row per repair
-- Reads    value_repair
-- Params   $date
-- Privacy  SENSITIVE: these counts depend on values
select repair, sum(n_records)::bigint as n_records
from value_repair
where local_date = $date
group by repair
order by repair
