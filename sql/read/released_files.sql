-- The files that each released day's last release was made from.
-- Grain    one row per (local_date, file_id)
-- Reads    released_file, released_day (each released day's last release)
-- Privacy  public
select release_id, released_file.local_date, file_id
from released_file
join released_day using (release_id)
order by all
