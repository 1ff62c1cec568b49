-- placed_record: the raw records with the middle of its hexagon in place of each place, which is private.
-- So no place inside a hexagon decides whether a record counts. The hexagon of latitude 0 and longitude 0 has its
-- middle there: a place of zeros is no place. The variable h3_resolution is the resolution.
-- Grain    one row per raw record
-- Reads    raw_record
-- Privacy  SENSITIVE
create or replace temp view placed_record as
select
    * replace (
        case
            when latitude between -90 and 90 and longitude between -180 and 180
                then hexagon_latitude(latitude, longitude, getvariable('h3_resolution'))
            else latitude
        end as latitude,
        case
            when latitude between -90 and 90 and longitude between -180 and 180
                then hexagon_longitude(latitude, longitude, getvariable('h3_resolution'))
            else longitude
        end as longitude
    )
from raw_record
