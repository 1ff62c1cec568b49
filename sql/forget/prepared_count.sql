-- prepared_count: deletes some local days for good.
-- Grain    none, rows are deleted
-- Params   $dates
-- Privacy  public
delete from prepared_count
where local_date in $dates
