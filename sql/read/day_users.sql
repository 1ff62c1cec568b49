-- The users of one local day.
-- Grain    one row per user_id
-- Reads    user_cell
-- Params   $date
-- Privacy  SENSITIVE: ids never leave the warehouse
select distinct user_id
from user_cell
where local_date = $date
order by user_id
