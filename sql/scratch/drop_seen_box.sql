-- seen_box: removes what was only on the way to box.
-- Grain    none, the table is dropped
-- Privacy  places where records are, assumed public
drop table seen_box
