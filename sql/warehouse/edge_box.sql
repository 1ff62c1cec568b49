-- box: the boxes that lie in two hexagons, on both sides of their edge.
-- Grain    one row per box
-- Reads    edge_box
-- Privacy  places where records are, assumed public
insert into box by name
from edge_box
