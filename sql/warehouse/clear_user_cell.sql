-- user_cell: empties one local day, so that the day can be written again.
-- Grain    none, rows are deleted
-- Params   $date
-- Privacy  SENSITIVE: deletes private rows
delete from user_cell where local_date = $date
