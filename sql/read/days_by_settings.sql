-- All days whose occupancy array was written, with the settings it was written with.
-- Grain    one row per local_date
-- Reads    prepared_day
-- Privacy  public
select local_date, settings_hash
from prepared_day
