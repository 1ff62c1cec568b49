-- incoming: the rows of one file of JSON objects, one a line; what cannot be read as a value is null.
-- Grain    one row per line; is_object is false where the line is not a JSON object
-- Reads    the file $path
-- Params   $path, $user, $time, $latitude, $longitude, $value: pointers to members; $blank: characters trimmed off
--          a user id, which must be a text or a whole number
-- Privacy  SENSITIVE: a temporary table; a value of NaN or Infinity leaves the line valid
create or replace temp table incoming as
with parsed as (
    select
        row_number() over () as row_number,
        coalesce(trim(line, $blank), '') = '' as is_blank,
        json_valid(line) and coalesce(json_type(if(json_valid(line), line, 'null')) = 'OBJECT', false) as is_object,
        if(is_object, line, '{}') as object
    from read_csv(
        $path,
        columns = {'line': 'VARCHAR'},
        auto_detect = false,
        header = false,
        delim = chr(31),
        quote = '',
        escape = ''
    )
)
select
    row_number,
    is_object,
    if(
        json_type(object, $user) in ('VARCHAR', 'UBIGINT', 'BIGINT'),
        nullif(trim(json_extract_string(object, $user), $blank), ''),
        null
    ) as user_id,
    readable_time(try_cast(json_extract_string(object, $time) as timestamptz)) as observed_at,
    try_cast(json_extract_string(object, $latitude) as double) as latitude,
    try_cast(json_extract_string(object, $longitude) as double) as longitude,
    try_cast(json_extract_string(object, $value) as double) as value,
    list_filter(
        [$user, $time, $latitude, $longitude, $value],
        lambda pointer: json_exists(object, pointer)
    ) as members
from parsed
where not is_blank
