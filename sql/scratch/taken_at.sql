-- taken_at(): when a fix was taken: the time of its record, less the age that the record gives in seconds.
-- It is exact to the microsecond. An age that cannot be read or is below 0 takes nothing off.
-- Grain    a function of an instant, of an age as it is written, and of the decimal mark of texts
-- Privacy  of a time alone, assumed public
create or replace temp macro taken_at(instant, age, decimal_mark) as
case
    when number_of(age, decimal_mark) between 0 and 1000000000
        then readable_time(
            readable_time(instant) - to_microseconds(round(number_of(age, decimal_mark) * 1000000)::bigint)
        )
    else readable_time(instant)
end
