-- seen_box: is dropped after boxes are made from it.
-- Grain    none, the table is dropped
-- Privacy  places where records are, assumed public
drop table seen_box
