-- present_row: the rows of a day's CSV files, each line read by itself, so that no row depends on another's.
-- A line ends at its end, whatever quotes it holds: no field goes over several lines. A line of another number of
-- fields than the header has no fields.
-- Grain    one row per line that is not empty
-- Reads    the files $paths
-- Params   $paths; $header: whether each has one; $delimiter; $field: a pattern of a delimiter and a field after it, as
--          its first group; $n_fields; $user, $time, $clock, $latitude, $longitude, $value: the places of the columns
--          from 1, $clock null if date and time are one column; $blank: trimmed off user ids; $micros, $time_format: of
--          times, see instant_of; $decimal: the decimal mark
-- Privacy  SENSITIVE
create or replace temp table present_row as
with line as (
    select rtrim(line, chr(13)) as line
    from read_csv(
        $paths,
        columns = {'line': 'VARCHAR'},
        auto_detect = false,
        header = $header,
        delim = chr(31),
        quote = '',
        escape = '',
        comment = '',
        nullstr = chr(30),
        ignore_errors = true,
        strict_mode = false,
        hive_partitioning = false
    )
),

split as (
    select
        case
            when not contains(line, '"') then string_split(line, $delimiter)
            else list_transform(
                regexp_extract_all($delimiter || line, $field, 1),
                lambda one: if(starts_with(one, '"'), replace(one[2:-2], '""', '"'), one)
            )
        end as field
    from line
    where line <> ''
),

whole as (
    select case when len(field) = $n_fields then field else [] end as field
    from split
)

select
    trimmed_id(field[$user], $blank) as user_id,
    readable_time(
        instant_of(
            if($clock is null, field[$time], field[$time] || ' ' || field[$clock]), $micros, $time_format
        )
    ) as observed_at,
    number_of(field[$latitude], $decimal) as latitude,
    number_of(field[$longitude], $decimal) as longitude,
    number_of(field[$value], $decimal) as value
from whole
