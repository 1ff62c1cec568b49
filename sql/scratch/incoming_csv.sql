-- incoming: the rows of one CSV file, text turned into types; what cannot be read as a value is null.
-- Grain    one row per row with the right number of fields
-- Reads    the file $path, whose columns get the names of their roles from $columns
-- Params   $path, $columns MAP of column to VARCHAR in the file's order, $delimiter, $blank: characters trimmed off a user id
-- Privacy  SENSITIVE: a temporary table; rejected lines stay in the temporary table rejected_line. One scanner reads the
--          file from its first byte to its last: several would begin amid it and have to guess whether they are within
--          quotes, which a value of many lines can make them guess wrong, so that its lines become records
create or replace temp table incoming as
select
    row_number() over () as row_number,
    true as is_object,
    trimmed_id(user_id, $blank) as user_id,
    readable_time(try_cast(time as timestamptz)) as observed_at,
    try_cast(latitude as double) as latitude,
    try_cast(longitude as double) as longitude,
    try_cast(value as double) as value
from read_csv(
    $path,
    columns = $columns,
    auto_detect = false,
    header = true,
    delim = $delimiter,
    quote = '"',
    escape = '"',
    nullstr = '',
    store_rejects = true,
    rejects_table = 'rejected_line',
    rejects_scan = 'rejected_scan',
    rejects_limit = 0,
    parallel = false
)
