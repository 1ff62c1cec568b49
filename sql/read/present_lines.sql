-- How many lines a day's CSV files have that are not empty, without headers; for the curator alone.
-- Grain    one row
-- Reads    the files $paths
-- Params   $paths; $header: whether each has one
-- Privacy  SENSITIVE: where presence is secret, the number of rows is
select count(*) as n_lines
from read_csv(
    $paths,
    columns = {'line': 'VARCHAR'},
    auto_detect = false,
    header = $header,
    delim = chr(31),
    quote = '',
    escape = '',
    comment = '',
    nullstr = chr(30),
    ignore_errors = true,
    strict_mode = false,
    hive_partitioning = false
)
where line <> ''
