-- released_file: empties one release, which is begun again.
-- Grain    none, rows are deleted
-- Params   $release_id
-- Privacy  public
delete from released_file where release_id = $release_id
