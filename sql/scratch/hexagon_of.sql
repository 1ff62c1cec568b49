-- hexagon_of(): the hexagon of a place: that of its cell, which may be smaller, else that of latitude and longitude.
-- It is null for a cell that is larger than the hexagons.
-- Grain    a function of a place, and of the resolution of hexagons
-- Privacy  SENSITIVE: a place may be private inside its hexagon
create or replace temp macro hexagon_of(place_cell, latitude, longitude, resolution) as
case
    when place_cell is null then h3_cell(latitude, longitude, resolution)
    when not is_larger(place_cell, resolution) then h3_parent(place_cell, resolution)
end
