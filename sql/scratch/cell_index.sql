-- cell_index(): the number of an H3 cell that is written as a number of 18 digits, or in hexadecimal; null for others.
-- Grain    a function of a cell as it is written
-- Privacy  of a place alone, assumed public
create or replace temp macro cell_index(written) as
case
    when regexp_full_match(trim(written::varchar), '\d{18}') then try_cast(trim(written::varchar) as ubigint)
    when regexp_full_match(trim(written::varchar), '(0x)?0?[0-9a-fA-F]{15}')
        then try_cast('0x' || right(trim(written::varchar), 15) as ubigint)
end
