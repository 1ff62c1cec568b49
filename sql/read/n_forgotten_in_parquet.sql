-- How many rows of a Parquet file belong to forgotten days.
-- Grain    one row
-- Reads    the file $path
-- Params   $path, $time: name of its column; $file_date: the day the file is for, or null;
--          $dates, $starts, $ends: what was forgotten
-- Privacy  a count of records, assumed public
select count(*) as n_rows
from (
    select readable_time(try_cast(columns(lambda c: c = $time) as timestamptz)) as observed_at
    from read_parquet($path)
)
where was_forgotten(coalesce($file_date::date, observed_at::date), observed_at, $dates, $starts, $ends)
