-- ends_in_name(): whether a time is a text that ends in the name of a zone, and not in a digit or in Z.
-- Grain    a function of a time as it is written
-- Privacy  of a time alone, assumed public
create or replace temp macro ends_in_name(written) as
case
    when typeof(written) <> 'VARCHAR' or suffix(written::varchar, 'Z') then false
    else right(rtrim(written::varchar), 1) > '9' and right(rtrim(written::varchar), 1) not in ('Z', 'z')
end
