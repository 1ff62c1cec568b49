-- The box of the places of the records that were read, without what is far from all but a thousandth on each side.
-- Grain    one row
-- Reads    placed_record
-- Params   $far: so many degrees are far
-- Units    degrees; null without a place
-- Privacy  of places alone, assumed public
with place as (
    select latitude, longitude
    from placed_record
    where isfinite(latitude) and isfinite(longitude)
        and abs(latitude) <= 90 and abs(longitude) <= 180
        and (latitude <> 0 or longitude <> 0)
)

select
    min(latitude) filter (latitude > bulk.south - $far) as south,
    max(latitude) filter (latitude < bulk.north + $far) as north,
    min(longitude) filter (longitude > bulk.west - $far) as west,
    max(longitude) filter (longitude < bulk.east + $far) as east,
    count(*) as n_places
from place
cross join (
    select
        quantile_cont(latitude, 0.001) as south,
        quantile_cont(latitude, 0.999) as north,
        quantile_cont(longitude, 0.001) as west,
        quantile_cont(longitude, 0.999) as east
    from place
) as bulk
