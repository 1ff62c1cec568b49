-- The box of the places of the records that were read.
-- It is without what is far from all but a thousandth on each side, and without what would lie among the others if
-- latitude and longitude were swapped.
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

most as (
    select
        quantile_cont(latitude, 0.1) - $far as south,
        quantile_cont(latitude, 0.9) + $far as north,
        quantile_cont(longitude, 0.1) - $far as west,
        quantile_cont(longitude, 0.9) + $far as east
    from place
),

judged as (
    select
        place.*,
        not (latitude between most.south and most.north and longitude between most.west and most.east)
        and longitude between most.south and most.north and latitude between most.west and most.east as is_swapped
    from place
    cross join most
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
