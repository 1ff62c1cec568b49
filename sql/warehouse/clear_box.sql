-- box: removes what was found for another day, or before.
-- Grain    none, rows are deleted
-- Privacy  places where records are, assumed public
delete from box
