-- The hexagons that corners of boxes lie in.
-- Grain    one row per h3_cell
-- Reads    seen_box
-- Privacy  places where records are, assumed public
select distinct unnest([south_west, south_east, north_west, north_east]) as h3_cell
from seen_box
where south_west is not null
