-- How many rows of the file just read were told apart, and how many of them have fields.
-- Grain    one row
-- Reads    incoming
select count(*) as n_rows, count(*) filter (is_object) as n_readable
from incoming
