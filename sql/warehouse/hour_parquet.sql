-- hour: the hours of which one Parquet file has rows.
-- Grain    one row per hour
-- Reads    the file $path
-- Params   $path, $time: name of its column, which must hold instants
-- Privacy  times of records, assumed public; a temporary table
create or replace temp table hour as
select distinct epoch_us(columns(lambda c: c = $time)) // 3600000000 as number
from read_parquet($path)
