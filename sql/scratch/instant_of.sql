-- instant_of(): the instant of a time as it is written; null if it cannot be read.
-- With time_format it is a text of that form: at its end, %z reads Z too, as an offset of none. With micros it is a
-- number since the beginning of 1970, exact as a decimal: a DOUBLE cannot tell one nanosecond from the next. It is of
-- 1990 to 2100, as where units are recognised: what counts another unit is no day of long ago. 0 is, as trackers write
-- it before they have a time: a row of another day. Else it is ISO 8601 or an instant. A time without an offset is read
-- in the time zone of the session, which is the dataset's.
-- Grain    a function of a time as it is written, of the microseconds that it counts, and of its form
-- Privacy  of a time alone, assumed public
create or replace temp macro instant_of(written, micros, time_format) as
case
    when contains(time_format, '%Z') then formed_instant(trim(written::varchar), time_format)
    when time_format is not null then try_strptime(
        regexp_replace(trim(written::varchar), 'Z$', if(ends_with(time_format, '%z'), '+00:00', 'Z')),
        time_format
    )::timestamptz
    when micros is not null then case
        when try_cast(written as decimal(28, 9)) * micros between 631152000000000 and 4102444799999999
            or try_cast(written as decimal(28, 9)) = 0
            then make_timestamptz(round(try_cast(written as decimal(28, 9)) * micros)::bigint)
    end
    when ends_in_name(written) then named_instant(without_bracket(written::varchar))
    else iso_instant(written)
end
