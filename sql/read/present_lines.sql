-- How many lines a day's CSV files have that are not empty, without headers; for the curator alone.
-- Grain    one row
-- Reads    the files $paths, by lines_of
-- Params   $paths; $header: whether each has one
-- Privacy  SENSITIVE: where presence is secret, the number of rows is
select count(*) as n_lines
from lines_of($paths, $header)
