-- unboxed: the hexagons of records that lie in no box.
-- Grain    one row per record
-- Reads    unboxed_place
-- Privacy  SENSITIVE: a temporary table
insert into unboxed by name
select file_id, row_number, h3_resolution, h3_cell(latitude, longitude, h3_resolution) as h3_cell
from unboxed_place
