-- held_row: how many raw rows of each file and day are held, in the warehouse or in shards.
-- Grain    one row per raw record, or per part
-- Reads    raw_record, raw_part
-- Privacy  counts of records, assumed public
create view if not exists held_row as
select file_id, local_date, 1 as n_rows from raw_record
union all
select file_id, local_date, n_rows from raw_part
