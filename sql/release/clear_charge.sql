-- charge: removes one release, so that it can be mirrored again.
-- Params   $release_id
delete from charge where release_id = $release_id
