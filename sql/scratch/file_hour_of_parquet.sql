-- file_hour: the hours of which one Parquet file has rows.
-- Grain    one row per hour
-- Reads    the file $path
-- Params   $path, $time: name of its column
-- Privacy  times of records, assumed public; a temporary table
create or replace temp table file_hour as
select distinct epoch_us(readable_time(observed_at)) // 3600000000 as number
from (
    select try_cast(columns(lambda c: c = $time) as timestamptz) as observed_at
    from read_parquet($path)
)
