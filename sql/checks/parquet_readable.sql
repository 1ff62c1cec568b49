-- Reads every value of a Parquet file's columns: fails if the file cannot be read.
-- Grain    one row
-- Reads    the file $path
-- Params   $path, $user, $time, $latitude, $longitude, $value: names of its columns
select count(hash(user_id, observed_at, latitude, longitude, value)) as n_rows
from (
    select
        columns(lambda c: c = $user) as user_id,
        columns(lambda c: c = $time) as observed_at,
        columns(lambda c: c = $latitude) as latitude,
        columns(lambda c: c = $longitude) as longitude,
        columns(lambda c: c = $value) as value
    from read_parquet($path, hive_partitioning = false)
)
