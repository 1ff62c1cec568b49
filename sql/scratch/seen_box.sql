-- seen_box: the boxes in which one local day has records, with the hexagons of their corners.
-- Corners are moved outwards by a hundredth of a box. A box costs four calls of H3, so a box with only one seen record
-- gets none; hexagons finer than resolution 11 hold too few records. One record in eight is seen, chosen by fractions
-- of multiples of the golden ratio: in a file that lists vehicles in turn, every eighth row may be of the same few.
-- Grain    one row per (h3_resolution, lat_box, lon_box)
-- Reads    raw_record, validated_day
-- Params   $date
-- Units    n_seen counts one record in eight; south, north, west and east are in degrees
-- Privacy  places of records, assumed public
create or replace temp table seen_box as
with busy as (
    select
        h3_resolution,
        boxes_per_degree(h3_resolution) as per_degree,
        floor(latitude * per_degree)::integer as lat_box,
        floor(longitude * per_degree)::integer as lon_box,
        count(*) as n_seen
    from raw_record
    join validated_day using (local_date)
    where local_date = $date
        and h3_resolution <= 11
        and place_cell is null
        and ((row_number + file_id) * 40503 & 65535) < 8192
        and abs(latitude) < 89
        and abs(longitude) <= 180
    group by all
),

edged as (
    select
        *,
        (lat_box - 0.01) / per_degree as south,
        (lat_box + 1.01) / per_degree as north,
        (lon_box - 0.01) / per_degree as west,
        (lon_box + 1.01) / per_degree as east
    from busy
)

select
    *,
    case when n_seen > 1 then h3_cell(south, west, h3_resolution) end as south_west,
    case when n_seen > 1 then h3_cell(south, east, h3_resolution) end as south_east,
    case when n_seen > 1 then h3_cell(north, west, h3_resolution) end as north_west,
    case when n_seen > 1 then h3_cell(north, east, h3_resolution) end as north_east
from edged
