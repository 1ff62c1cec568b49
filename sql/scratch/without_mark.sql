-- without_mark(): a line without the byte order marks before it.
-- The engine takes one off the first line of a file. Which line that is depends on all others: each is read by itself
-- only if every line loses its marks.
-- Grain    a function of a line
-- Privacy  SENSITIVE: a record
create or replace temp macro without_mark(line) as
if(starts_with(line, chr(65279)), ltrim(line, chr(65279)), line)
