-- file_hour: the hours in which a Parquet file has rows.
-- Grain    one row per number
-- Reads    the file $path
-- Params   $path, $time: name of its column; $micros, $time_format: of times, see instant_of
-- Privacy  times of records, assumed public
create or replace temp table file_hour as
select distinct epoch_us(readable_time(observed_at)) // 3600000000 as number
from (
    select instant_of(columns(lambda c: c = $time), $micros, $time_format) as observed_at
    from read_parquet($path, hive_partitioning = false)
)
