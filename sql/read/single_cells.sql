-- How many cells one day would have with some hexagons and slots, and how many of these have one record.
-- Grain    one row
-- Reads    placed_record
-- Params   $date, $h3_resolution, $slot_minutes
-- Privacy  counts of records, assumed public
select count(*) as n_cells, count(*) filter (n_records = 1) as n_single
from (
    select
        hexagon_of(place_cell, latitude, longitude, $h3_resolution) as h3_cell,
        epoch_us(observed_at) // ($slot_minutes::bigint * 60000000) as slot,
        count(*) as n_records
    from placed_record
    where local_date = $date
        and latitude between -90 and 90 and longitude between -180 and 180
        and (latitude <> 0 or longitude <> 0)
    group by all
)
