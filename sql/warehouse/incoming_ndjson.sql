-- incoming: the rows of one file of JSON objects, one a line; what cannot be read as a value is null.
-- Grain    one row per line; is_object is false where the line is not a JSON object
-- Reads    the file $path
-- Params   $path, $user, $time, $latitude, $longitude, $value: names of members
-- Privacy  SENSITIVE: a temporary table; a value of NaN or Infinity leaves the line valid
create or replace temp table incoming as
select
    row_number() over () as row_number,
    json_valid(line) and coalesce(json_type(if(json_valid(line), line, 'null')) = 'OBJECT', false) as is_object,
    nullif(trim(if(is_object, line ->> $user, null)), '') as user_id,
    try_cast(if(is_object, line ->> $time, null) as timestamptz) as observed_at,
    try_cast(if(is_object, line ->> $latitude, null) as double) as latitude,
    try_cast(if(is_object, line ->> $longitude, null) as double) as longitude,
    try_cast(if(is_object, line ->> $value, null) as double) as value
from read_csv(
    $path,
    columns = {'line': 'VARCHAR'},
    auto_detect = false,
    header = false,
    delim = chr(31),
    quote = '',
    escape = ''
)
