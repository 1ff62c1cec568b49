-- How many rows of the file just read could be split into fields.
-- Grain    one row
-- Reads    incoming
-- Privacy  a count of records, assumed public
select count(*) as n_readable
from incoming
where is_object
