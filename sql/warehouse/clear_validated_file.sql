-- validated_file: empties one local day, so that the day can be noted again.
-- Grain    none, rows are deleted
-- Params   $date
-- Privacy  public
delete from validated_file where local_date = $date
