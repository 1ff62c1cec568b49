-- released_file: stores the files that a release is made from.
-- Grain    one row per file
-- Reads    prepared_file
-- Params   $release_id, $date
-- Privacy  public
insert into released_file by name
select $release_id as release_id, local_date, file_id
from prepared_file
where local_date = $date
