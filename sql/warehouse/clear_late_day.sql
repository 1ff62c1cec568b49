-- late_day: empties one local day, which is about to be released from all that is there.
-- Grain    none, rows are deleted
-- Params   $date
-- Privacy  public
delete from late_day where local_date = $date
