-- released_file: empties one local day, so that it can be noted again.
-- Grain    none, rows are deleted
-- Params   $date
-- Privacy  public
delete from released_file where local_date = $date
