-- The share of one local day's records that lie in boxes, among those that were seen; null where none were.
-- Grain    one row
-- Reads    seen_box, box
-- Privacy  places where records are, assumed public
select sum(n_seen) filter (where h3_cell is not null) / sum(n_seen) as boxed_share
from seen_box
left join box using (h3_resolution, lat_box, lon_box)
