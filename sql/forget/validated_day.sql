-- validated_day: deletes some local days for good.
-- Grain    none, rows are deleted
-- Params   $dates
-- Privacy  public
delete from validated_day
where local_date in $dates
