-- parted_instant(): the instant of a time that may be in one column, of any type, in two, or in the file's path.
-- Grain    a function of the two columns, and of micros and time_format: see instant_of
-- Reads    the variable is_parted: whether it is more than one column
-- Privacy  of a time alone, assumed public
create or replace temp macro parted_instant(time, clock, micros, time_format) as
case
    when coalesce(getvariable('is_parted'), false)
        then list_transform(
            [written_time(time, clock, time_format)], lambda one: instant_of(one, micros, time_format)
        )[1]
    else instant_of(time, micros, time_format)
end
