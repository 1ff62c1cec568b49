-- box: removes the boxes of some hexagons.
-- Grain    none, rows are deleted
-- Params   $cells
-- Privacy  public
delete from box where h3_cell in (select unnest($cells::ubigint[]))
