-- file_hour: the hours from a Parquet file's first time to its last, from the file's metadata.
-- Grain    one row per number; none if they are too many, which a single wrong time can cause
-- Reads    the file $path
-- Params   $path, $time: name of its column; $micros, $time_format: of times, see instant_of
-- Privacy  times of records, assumed public
create or replace temp table file_hour as
select unnest(generate_series(first_number, last_number)) as number
from (
    select
        epoch_us(readable_time(instant_of(min(columns(lambda c: c = $time)), $micros, $time_format))) // 3600000000 as first_number,
        epoch_us(readable_time(instant_of(max(columns(lambda c: c = $time)), $micros, $time_format))) // 3600000000 as last_number
    from read_parquet($path, hive_partitioning = false)
)
where last_number - first_number < 10000
