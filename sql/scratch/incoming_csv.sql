-- incoming: the rows of a CSV file, converted from text to types; a value that cannot be read is null.
-- One scanner reads the file from start to end. Several scanners would start in the middle, and guess whether they are
-- inside quotes. With a value of many lines they can guess wrong, and read its lines as records.
-- Grain    one row per row with the right number of fields
-- Reads    the file $path; the lines it rejects are then in rejected_line
-- Params   $path, $columns MAP of role to VARCHAR in the file's order, $delimiter, $blank: trimmed off user ids
-- Privacy  SENSITIVE
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
