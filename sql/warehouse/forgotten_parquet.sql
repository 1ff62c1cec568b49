-- How many rows of one Parquet file are of forgotten days.
-- Grain    one row
-- Reads    the file $path
-- Params   $file_date: the day the file is for, or null where each row's own time tells; $forgotten: local days;
--          $path, $time: name of its column
-- Privacy  a count of records, assumed public
select count(*) as n_rows
from (
    select try_cast(columns(lambda c: c = $time) as timestamptz) as observed_at
    from read_parquet($path)
)
where list_contains($forgotten::date[], coalesce($file_date::date, readable_time(observed_at)::date))
