-- released_file: stores one file that a release was made from, in a worker's temporary warehouse.
-- Grain    one row
-- Params   $release_id, $local_date, $file_id
-- Privacy  public
insert into released_file by name
select $release_id as release_id, $local_date::date as local_date, $file_id::integer as file_id
