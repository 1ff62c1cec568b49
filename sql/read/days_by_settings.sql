-- All days whose occupancy array was written, with the hash of the settings.
-- Grain    one row per local_date
-- Reads    prepared_day
-- Privacy  public
select local_date, settings_hash
from prepared_day
