-- any_table: deletes the rows of one release, which is written again.
-- Grain    none, rows are deleted
-- Params   $release_id
-- Privacy  public
delete from any_table
where release_id = $release_id
