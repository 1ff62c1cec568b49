-- user_cell: empties one local day, so that the day can be written again.
-- Params   $date
delete from user_cell where local_date = $date
