-- box: boxes of latitude and longitude that lie in one hexagon as a whole. Any may be missing.
-- Grain    one row per (h3_resolution, lat_box, lon_box)
-- Units    lat_box and lon_box number the boxes from 0 degrees, see boxes_per_degree
-- Privacy  places where records are, assumed public; a temporary table
create or replace temp table box (
    h3_resolution integer not null,
    lat_box integer not null,
    lon_box integer not null,
    h3_cell ubigint not null
)
