-- is_whole_time(): whether a text has a time of day beside its date, or is a number of ten digits; null for none.
-- Grain    a function of a text
-- Privacy  of a time alone, assumed public
create or replace temp macro is_whole_time(written) as regexp_matches(written, ':|\d[T ]\d|^\s*\d{10,}')
