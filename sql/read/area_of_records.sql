-- The box of the places of the records that were read.
-- It is without what is far from all but a thousandth on each side, and without what would lie four times nearer to the
-- middle if latitude and longitude were swapped.
-- Grain    one row
-- Reads    placed_record
-- Params   $far: so many degrees are far
-- Units    degrees; null without a place; n_swapped counts places
-- Privacy  of places alone, assumed public
with place as (
    select latitude, longitude
    from placed_record
    where isfinite(latitude) and isfinite(longitude)
        and abs(latitude) <= 90 and abs(longitude) <= 180
        and (latitude <> 0 or longitude <> 0)
),

middle as (
    select median(latitude) as latitude, median(longitude) as longitude from place
),

off as (
    select
        place.*,
        greatest(abs(place.latitude - middle.latitude), abs(place.longitude - middle.longitude)) as degrees,
        greatest(abs(place.longitude - middle.latitude), abs(place.latitude - middle.longitude)) as degrees_if_swapped
    from place
    cross join middle
),

judged as (
    select latitude, longitude, degrees > $far and 4 * degrees_if_swapped < degrees as is_swapped from off
),

bulk as (
    select
        quantile_cont(latitude, 0.001) as south,
        quantile_cont(latitude, 0.999) as north,
        quantile_cont(longitude, 0.001) as west,
        quantile_cont(longitude, 0.999) as east
    from judged
    where not is_swapped
)

select
    min(latitude) filter (latitude > bulk.south - $far and not is_swapped) as south,
    max(latitude) filter (latitude < bulk.north + $far and not is_swapped) as north,
    min(longitude) filter (longitude > bulk.west - $far and not is_swapped) as west,
    max(longitude) filter (longitude < bulk.east + $far and not is_swapped) as east,
    count(*) as n_places,
    count(*) filter (is_swapped) as n_swapped
from judged
cross join bulk
