-- statistic: removes one release, so that it can be mirrored again.
-- Params   $release_id
delete from statistic where release_id = $release_id
