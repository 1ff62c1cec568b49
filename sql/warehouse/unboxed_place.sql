-- unboxed_place: the raw records of one local day that lie in no box, by themselves: asked for the hexagons of a few rows
-- among many, the function has little to do at each call, and costs more to call than to do.
-- Grain    one row per such record
-- Reads    raw_record, validated_day, validated_file, box
-- Params   $date, $most: how many at most
-- Privacy  SENSITIVE: a temporary table
create or replace temp table unboxed_place as
select file_id, row_number, latitude, longitude, placed.h3_resolution
from raw_record
cross join (
    select *, boxes_per_degree(h3_resolution) as per_degree from validated_day where local_date = $date
) as placed
anti join box
    on box.h3_resolution = placed.h3_resolution
    and box.lat_box = try_cast(floor(latitude * per_degree) as integer)
    and box.lon_box = try_cast(floor(longitude * per_degree) as integer)
where raw_record.local_date = $date
    and file_id in (select file_id from validated_file where local_date = $date)
    and abs(latitude) <= 90
    and abs(longitude) <= 180
limit $most
