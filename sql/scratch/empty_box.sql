-- box: boxes of latitude and longitude that lie in one hexagon, or in two and are divided by their edge.
-- With side = per_latitude * latitude + per_longitude * longitude + at_zero, a place of the box lies in h3_cell if
-- side > 1, and in beyond if side < -1. Between these, near the edge, the table gives no hexagon. A box may be missing.
-- Grain    one row per (h3_resolution, lat_box, lon_box)
-- Units    lat_box and lon_box count boxes from 0 degrees, see boxes_per_degree; side counts hundredths of a box's
--          width from the edge, and is 2 if there is no edge
-- Privacy  places where records are, assumed public
create or replace temp table box (
    h3_resolution integer not null,
    lat_box integer not null,
    lon_box integer not null,
    h3_cell ubigint not null,
    beyond ubigint not null,
    per_latitude double not null,
    per_longitude double not null,
    at_zero double not null
)
