-- file_hour: the hours from a Parquet file's first time to its last, from the file's metadata.
-- Grain    one row per number; none if they are too many, which a single wrong time can cause
-- Reads    the file $path
-- Params   $path, $time: name of its column; $micros, $time_format: of times, see instant_of
-- Privacy  times of records, assumed public
create or replace temp table file_hour as
with edge as (
    select min(columns(lambda c: c = $time)) as first_time, max(columns(lambda c: c = $time)) as last_time
    from read_parquet($path, hive_partitioning = false)
),

instant as (
    select
        instant_of(first_time, $micros, $time_format) as first_instant,
        instant_of(last_time, $micros, $time_format) as last_instant
    from edge
),

numbered as (
    select
        epoch_us(readable_time(first_instant)) // 3600000000 as first_number,
        epoch_us(readable_time(last_instant)) // 3600000000 as last_number
    from instant
)

select unnest(generate_series(first_number, last_number)) as number
from numbered
where last_number - first_number < 10000
