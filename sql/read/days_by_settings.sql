-- The days whose occupancy array was written, and with which settings.
-- Grain    one row per local_date
-- Reads    prepared_day
-- Privacy  public
select local_date, settings_hash
from prepared_day
