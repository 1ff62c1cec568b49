-- raw_path: a table of earlier versions, in place of which seen_file now stands. It held sizes, which depend on values.
-- Grain    none, a table is dropped
-- Privacy  SENSITIVE: drops what depends on private values
drop table if exists raw_path
