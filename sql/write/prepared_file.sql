-- prepared_file: stores the files that one local day's occupancy array is made from.
-- Grain    one row per file
-- Reads    validated_file
-- Params   $date
-- Privacy  public
insert into prepared_file by name
select local_date, file_id
from validated_file
where local_date = $date
