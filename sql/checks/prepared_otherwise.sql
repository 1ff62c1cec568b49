-- Whether the occupancy array of a day is missing, or was written with other settings.
-- Grain    one row if so
-- Reads    prepared_day
-- Params   $date, $settings_hash
select 1 as otherwise
where not exists (
    select 1
    from prepared_day
    where local_date = $date and settings_hash = $settings_hash
)
