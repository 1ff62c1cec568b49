-- prepared_count: empties one local day, so that the day can be noted again.
-- Grain    none, rows are deleted
-- Params   $date
-- Privacy  public
delete from prepared_count where local_date = $date
