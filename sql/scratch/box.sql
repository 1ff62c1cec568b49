-- box: the boxes of one local day that lie in one hexagon, because all their corners do, or in two.
-- Grain    one row per (h3_resolution, lat_box, lon_box)
-- Reads    seen_box, edge_box
-- Params   $bent: hexagons on several faces of the icosahedron; a box with corners in one may still leave it
-- Privacy  places where records are, assumed public
create or replace temp table box as
select
    h3_resolution,
    lat_box,
    lon_box,
    south_west as h3_cell,
    south_west as beyond,
    0::double as per_latitude,
    0::double as per_longitude,
    2::double as at_zero
from seen_box
where south_west = south_east
    and south_west = north_west
    and south_west = north_east
    and south_west not in (select unnest($bent::ubigint[]))
union all by name
from edge_box
