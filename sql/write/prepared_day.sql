-- prepared_day: notes with which settings the occupancy array of a day was written.
-- Grain    one row
-- Params   $date, $settings_hash
-- Privacy  public
insert or replace into prepared_day by name
select $date as local_date, $settings_hash as settings_hash
