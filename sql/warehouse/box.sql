-- box: the boxes where one local day has many records, of which all four corners lie in one hexagon. The corners are
-- moved outwards by a hundredth of a box.
-- Grain    one row per box
-- Reads    raw_record, validated_day
-- Params   $date
-- Privacy  places of records, assumed public. Every seventh record is looked at: a box costs four
--          cells, and corners are compared as rows since of three equalities the engine makes six, each
--          asked for anew. Finer hexagons than 11 hold few records each
insert into box by name
with busy as (
    select
        h3_resolution,
        boxes_per_degree(h3_resolution) as per_degree,
        floor(latitude * per_degree)::integer as lat_box,
        floor(longitude * per_degree)::integer as lon_box
    from raw_record
    join validated_day using (local_date)
    where local_date = $date
        and h3_resolution <= 11
        and row_number % 7 = 0
        and abs(latitude) < 89
        and abs(longitude) <= 180
    group by all
    having count(*) > 1
),

edged as (
    select
        *,
        (lat_box - 0.01) / per_degree as south,
        (lat_box + 1.01) / per_degree as north,
        (lon_box - 0.01) / per_degree as west,
        (lon_box + 1.01) / per_degree as east,
        h3_cell(south, west, h3_resolution) as h3_cell
    from busy
)

select h3_resolution, lat_box, lon_box, h3_cell
from edged
where (h3_cell, h3_cell, h3_cell) = (
    h3_cell(north, east, h3_resolution),
    h3_cell(south, east, h3_resolution),
    h3_cell(north, west, h3_resolution)
)
