-- record: empties one local day, so that the day can be written again.
-- Params   $date
delete from record where local_date = $date
