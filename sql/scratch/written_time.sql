-- written_time(): the time of a record as it is written, which may be in one column, in two, or in the file's path.
-- Of two the second may be a whole time: then the first counts if it is a whole time too, else the second. Otherwise
-- the second is the time of day, or the number of an hour, and completes the date in the first.
-- Grain    a function of two times as they are written, and of the declared form of whole times, or null
-- Reads    the variables has_clock: whether there is a second; path_time and path_clock: what the path says of each
-- Privacy  of a time alone, assumed public
create or replace temp macro written_time(first, second, time_format) as
case
    when coalesce(getvariable('has_clock'), false) then joined_time(
        coalesce(getvariable('path_time')::varchar, first::varchar),
        coalesce(getvariable('path_clock')::varchar, second::varchar),
        time_format
    )
    else coalesce(getvariable('path_time')::varchar, first::varchar)
end
