-- validated_day: gets the column missing if older code made the table.
-- Grain    none, a column is added
-- Privacy  that of validated_day
alter table validated_day add column if not exists missing double[] default []
