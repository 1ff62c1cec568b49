-- lines_of(): the lines of text files, each by itself: no mark in a line means anything. Empty ones are left out.
-- LF, CR and CRLF all end a line, as the engine is told with an LF: else what ends the first line says how others end.
-- A line that is no UTF-8, or longer than the engine reads, is left out alone.
-- Grain    one row per line of the files that are its first argument; its second is whether each has a header
-- Privacy  SENSITIVE
create or replace temp macro lines_of(paths, has_header) as table
select line
from read_csv(
    paths,
    columns = {'line': 'VARCHAR'},
    auto_detect = false,
    header = has_header,
    delim = chr(31),
    quote = '',
    escape = '',
    comment = '',
    new_line = '\n',
    nullstr = chr(30),
    ignore_errors = true,
    strict_mode = false,
    hive_partitioning = false
)
where line <> ''
