-- file_hour: the hours in which a file has rows; empty if the file's name gives the day.
-- Grain    one row per number: hours since the beginning of 1970 in UTC
-- Privacy  times of records, assumed public
create or replace temp table file_hour (number bigint)
