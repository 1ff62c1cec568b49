-- The share of seen records that lie in boxes; null if no record was seen.
-- Grain    one row
-- Reads    seen_box, box
-- Privacy  places where records are, assumed public
select sum(n_seen) filter (where h3_cell is not null) / sum(n_seen) as boxed_share
from seen_box
left join box using (h3_resolution, lat_box, lon_box)
