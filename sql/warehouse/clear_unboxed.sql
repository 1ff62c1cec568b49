-- unboxed: removes what was found for another day, or before.
-- Grain    none, rows are deleted
-- Privacy  SENSITIVE: a temporary table
delete from unboxed
