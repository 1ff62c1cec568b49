-- raw_record: adds the column to a warehouse that was made before there was one.
-- Grain    none, a column is added
-- Privacy  of places alone, assumed public
alter table raw_record add column if not exists place_cell ubigint
