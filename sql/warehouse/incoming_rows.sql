-- How many rows of the file just read were told apart.
-- Grain    one row
-- Reads    incoming
select count(*) as n_rows
from incoming
