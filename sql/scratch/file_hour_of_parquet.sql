-- file_hour: the hours in which a Parquet file has rows.
-- Grain    one row per number
-- Reads    the file $path
-- Params   $path, $time: name of its column
-- Privacy  times of records, assumed public
create or replace temp table file_hour as
select distinct epoch_us(readable_time(observed_at)) // 3600000000 as number
from (
    select try_cast(columns(lambda c: c = $time) as timestamptz) as observed_at
    from read_parquet($path)
)
