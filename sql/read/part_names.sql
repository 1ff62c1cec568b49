-- Every part that the shards' storage is to hold.
-- Grain    one row per part
-- Reads    raw_part
-- Privacy  public
select name
from raw_part
order by name
