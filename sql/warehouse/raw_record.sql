-- raw_record: the rows of one file, each with the local day it belongs to.
-- Grain    one row per readable row of the file that is not of a forgotten day
-- Reads    incoming
-- Params   $file_id, $file_date: the day the file is for, or null where each row's own time tells;
--          $forgotten: local days of which no row may be kept
-- Privacy  SENSITIVE
insert into raw_record by name
select
    $file_id::integer as file_id,
    row_number,
    coalesce($file_date::date, observed_at::date) as local_date,
    user_id,
    observed_at,
    latitude,
    longitude,
    value
from incoming
where is_object
    and coalesce(not list_contains($forgotten::date[], coalesce($file_date::date, observed_at::date)), true)
