-- box: the boxes that lie in one hexagon as a whole, since all their corners do.
-- Grain    one row per box
-- Reads    corner
-- Params   $bent: hexagons that lie on several faces of the icosahedron, of which that does not follow
-- Privacy  places where records are, assumed public
insert into box by name
select
    h3_resolution,
    lat_box,
    lon_box,
    south_west as h3_cell,
    south_west as beyond,
    0 as per_latitude,
    0 as per_longitude,
    2 as at_zero
from corner
where south_west = south_east
    and south_west = north_west
    and south_west = north_east
    and south_west not in (select unnest($bent::ubigint[]))
