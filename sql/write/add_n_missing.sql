-- user_cell: gets the column n_missing if older code made the table.
-- Grain    none, a column is added
-- Privacy  that of user_cell
alter table user_cell add column if not exists n_missing bigint default 0
