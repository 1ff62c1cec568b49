-- How many rows of the file just read have fields.
-- Grain    one row
-- Reads    incoming
select count(*) as n_readable
from incoming
where is_object
