-- boxes_per_degree(): how many boxes of latitude and longitude go on a degree.
-- A box is about a sixth as wide as a hexagon's edge is long, and at most a degree.
-- Grain    a function of a resolution of H3
-- Privacy  public
create or replace temp macro boxes_per_degree(h3_resolution) as
round(512 * pow(7, (h3_resolution - 7) / 2))
