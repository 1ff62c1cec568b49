-- record: a table of earlier versions, whose records record() now places anew. Kept, it would hold what was forgotten.
-- Grain    none, a table is dropped
-- Privacy  SENSITIVE: drops private rows
drop table if exists record
