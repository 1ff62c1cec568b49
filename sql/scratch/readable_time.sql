-- readable_time(): an instant, or null outside the years that have calendar days; infinity also gives null.
-- Grain    a function of an instant
-- Privacy  of a time alone, assumed public
create or replace temp macro readable_time(instant) as
case when instant between timestamptz '0001-01-03 00:00:00+00' and timestamptz '9999-12-29 00:00:00+00' then instant end
