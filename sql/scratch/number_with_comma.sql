-- number_of(): a number as it is written, with a comma as its decimal mark; null if it cannot be read.
-- Grain    a function of a number or a text
-- Privacy  SENSITIVE: it may be a value
create or replace temp macro number_of(written) as
try_cast(replace(written::varchar, ',', '.') as double)
