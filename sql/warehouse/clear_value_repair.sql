-- value_repair: empties one local day, so that the day can be written again.
-- Params   $date
delete from value_repair where local_date = $date
