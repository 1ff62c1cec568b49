-- What the first rows of a file in JSON have of the columns' names, and what they have for user and time.
-- The value is not looked at: only whether there is such a member, which is structure.
-- Grain    one row per row that is what records are, in their order
-- Reads    first_line: the first lines of the file
-- Params   $members: pointers to members that are named as columns are; $user, $time, $clock: such pointers;
--          $user_path, $time_path, $clock_path: pointers by the path that the name may be;
--          $kind: what a record is, OBJECT or ARRAY
-- Privacy  SENSITIVE: times of records
with readable as (
    select row_number, readable_json(line) as line
    from first_line
),

parsed as (
    select row_number, if(json_valid(line), line, 'null') as object
    from readable
)
select
    list_filter($members, lambda pointer: json_exists(object, pointer)) as members,
    coalesce(json_type(object, $user), json_type(object, $user_path)) as user_type,
    coalesce(json_extract_string(object, $time), json_extract_string(object, $time_path)) as time,
    coalesce(json_extract_string(object, $clock), json_extract_string(object, $clock_path)) as clock
from parsed
where json_type(object) = $kind
order by row_number
