-- is_larger(): whether a cell is larger than the hexagons of a resolution; null for no cell.
-- Grain    a function of a cell and of a resolution
-- Privacy  of a place alone, assumed public
create or replace temp macro is_larger(place_cell, resolution) as (place_cell >> 52) & 15 < resolution
