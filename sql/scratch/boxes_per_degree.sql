-- boxes_per_degree(): the number of boxes of latitude and longitude per degree.
-- The width of a box is about a sixth of the length of a hexagon's edge, and at most a degree.
-- Grain    a function of a resolution of H3
-- Privacy  public
create or replace temp macro boxes_per_degree(h3_resolution) as
round(512 * pow(7, (h3_resolution - 7) / 2))
