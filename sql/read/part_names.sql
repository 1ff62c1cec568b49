-- All parts that the shards' storage must hold.
-- Grain    one row per part
-- Reads    raw_part
-- Privacy  public
select name
from raw_part
order by name
