-- The boxes whose corners lie in several hexagons.
-- Grain    one row per box
-- Reads    seen_box
-- Params   $bent: hexagons that lie on several faces of the icosahedron, and are left out
-- Privacy  places where records are, assumed public
select *
from seen_box
where not (south_west = south_east and south_west = north_west and south_west = north_east)
    and south_west not in (select unnest($bent::ubigint[]))
    and south_east not in (select unnest($bent::ubigint[]))
    and north_west not in (select unnest($bent::ubigint[]))
    and north_east not in (select unnest($bent::ubigint[]))
