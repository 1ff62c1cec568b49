-- instant_of(): the instant of a time that is a number since the beginning of 1970; null if it cannot be read.
-- The number is exact as a decimal: a DOUBLE cannot tell one nanosecond from the next.
-- Grain    a function of a time as it is written, and of how many microseconds it counts
-- Privacy  of a time alone, assumed public
create or replace temp macro instant_of(written, micros, time_format) as
case
    when try_cast(written as decimal(28, 9)) * micros between -62135337600000000 and 253402000000000000
        then make_timestamptz(round(try_cast(written as decimal(28, 9)) * micros)::bigint)
end
