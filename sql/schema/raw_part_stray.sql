-- raw_part: gets the column is_stray where the table is of an earlier version.
-- Grain    none, a column is added
-- Privacy  times of records, assumed public
alter table raw_part add column if not exists is_stray boolean
