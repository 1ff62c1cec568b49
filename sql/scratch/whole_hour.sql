-- whole_hour: the hours that lie completely in one local day, without a clock change, and that day.
-- Looking up a time zone's calendar is slow, so it is done per hour and not per record.
-- Grain    one row per number, from 1970 to 2198
-- Reads    file_hour
-- Privacy  times of records, assumed public
create or replace temp view whole_hour as
select number, local_day(first_instant) as local_date
from (
    select
        number,
        make_timestamptz(number * 3600000000) as first_instant,
        make_timestamptz(number * 3600000000 + 3599999999) as last_instant
    from file_hour
    where number between 1 and 2000000
)
where local_day(first_instant) = local_day(last_instant)
    and timezone(getvariable('day_zone'), last_instant) - timezone(getvariable('day_zone'), first_instant) = last_instant - first_instant
