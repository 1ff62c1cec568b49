-- How many rows of one local day are used.
-- Grain    one row
-- Reads    present_row
-- Privacy  SENSITIVE: where presence is secret, the number of rows is
select count(*) filter (reason is null) as n_rows
from present_row
