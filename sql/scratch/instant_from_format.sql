-- instant_of(): the instant of a time that is written in a declared form; null if it cannot be read.
-- A time without an offset is read in the time zone of the session, which is the dataset's. At the end of a form, %z
-- reads Z too, as an offset of none.
-- Grain    a function of a time as it is written, and of its form
-- Privacy  of a time alone, assumed public
create or replace temp macro instant_of(written, micros, time_format) as
try_strptime(
    regexp_replace(trim(written::varchar), 'Z$', if(ends_with(time_format, '%z'), '+00:00', 'Z')),
    time_format
)::timestamptz
