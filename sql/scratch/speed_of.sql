-- speed_of(): the speed from one fix to the next: the great-circle distance (haversine) over the time between.
-- There is none at the same instant, or after more than the longest gap.
-- Grain    a function of a place, of the place before, of the time between and the longest, and of how many of the unit
--          are a metre a second
-- Units    radians and microseconds; the Earth's mean radius is 6,371,008.8 m
-- Privacy  SENSITIVE: places inside hexagons decide on it
create or replace temp macro speed_of(
    latitude, longitude, latitude_before, longitude_before, gap, longest_gap, per_metre_a_second
) as
case
    when gap between 1 and longest_gap
        then 2 * 6371008.8 * asin(least(sqrt(
            sin((latitude - latitude_before) / 2) ** 2
            + cos(latitude) * cos(latitude_before) * sin((longitude - longitude_before) / 2) ** 2
        ), 1)) / (gap / 1000000) * per_metre_a_second
end
