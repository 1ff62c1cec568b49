-- file_hour: the hours in which the file just read has rows.
-- Grain    one row per number
-- Reads    incoming
-- Privacy  times of records, assumed public
create or replace temp table file_hour as
select distinct epoch_us(observed_at) // 3600000000 as number
from incoming
