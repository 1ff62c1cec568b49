-- unboxed_place: removes what was only on the way to unboxed.
-- Grain    none, the table is dropped
-- Privacy  SENSITIVE: a temporary table
drop table unboxed_place
