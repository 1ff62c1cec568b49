-- file_hour: the hours of which a file has rows that its own times tell the day of; empty where its name does.
-- Grain    one row per number: hours since the beginning of 1970 in UTC
-- Privacy  times of records, assumed public; a temporary table
create or replace temp table file_hour (number bigint)
