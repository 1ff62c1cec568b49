-- prepared_day: stores the settings that the occupancy array of a day was written with.
-- Grain    one row
-- Params   $date, $settings_hash
-- Privacy  public
insert or replace into prepared_day by name
select $date as local_date, $settings_hash as settings_hash
