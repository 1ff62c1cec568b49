-- number_of(): a number as it is written; null if it cannot be read.
-- Grain    a function of a number or a text, and of the decimal mark of a text
-- Privacy  SENSITIVE: it may be a value
create or replace temp macro number_of(written, decimal_mark) as
case
    when decimal_mark = ',' then try_cast(replace(written::varchar, ',', '.') as double)
    else try_cast(written as double)
end
