-- file_hour: the hours of which the file just read has rows.
-- Grain    one row per hour
-- Reads    incoming
-- Privacy  times of records, assumed public; a temporary table
create or replace temp table file_hour as
select distinct epoch_us(observed_at) // 3600000000 as number
from incoming
