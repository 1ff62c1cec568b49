-- charge: removes one release, so that it can be mirrored again.
-- Grain    none, rows are deleted
-- Params   $release_id
-- Privacy  public
delete from charge where release_id = $release_id
