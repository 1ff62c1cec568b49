-- incoming: the rows of one Parquet file, cast to types; what cannot be read as a value is null.
-- Grain    one row per row of the file
-- Reads    the file $path
-- Params   $path, $user, $time, $latitude, $longitude, $value: names of its columns; $blank: characters
--          trimmed off a user id
-- Privacy  SENSITIVE: a temporary table
create or replace temp table incoming as
select
    file_row_number + 1 as row_number,
    true as is_object,
    nullif(trim(columns(lambda c: c = $user)::varchar, $blank), '') as user_id,
    try_cast(columns(lambda c: c = $time) as timestamptz) as observed_at,
    try_cast(columns(lambda c: c = $latitude) as double) as latitude,
    try_cast(columns(lambda c: c = $longitude) as double) as longitude,
    try_cast(columns(lambda c: c = $value) as double) as value
from read_parquet($path, file_row_number = true)
