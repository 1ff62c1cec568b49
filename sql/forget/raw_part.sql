-- raw_part: deletes some local days for good; their parts are then deleted from the shards' storage.
-- Grain    none, rows are deleted
-- Params   $dates
-- Privacy  public
delete from raw_part
where local_date in $dates
