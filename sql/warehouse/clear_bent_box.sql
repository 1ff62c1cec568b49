-- box: removes the boxes of hexagons that lie on several faces of the icosahedron.
-- Grain    none, rows are deleted
-- Params   $cells: those hexagons
-- Privacy  public
delete from box where h3_cell in (select unnest($cells::ubigint[]))
