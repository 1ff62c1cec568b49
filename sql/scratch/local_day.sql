-- local_day(): the day of an instant in the dataset's time zone, whatever the zone of the session is.
-- Grain    a function of an instant; the zone is in the variable day_zone
-- Privacy  of a time alone, assumed public
create or replace temp macro local_day(instant) as timezone(getvariable('day_zone'), instant)::date
