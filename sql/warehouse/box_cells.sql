-- The hexagons that boxes lie in.
-- Grain    one row per h3_cell
-- Reads    box
-- Privacy  places where records are, assumed public
select distinct h3_cell
from box
