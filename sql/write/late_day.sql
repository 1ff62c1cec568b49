-- late_day: stores how many records of a day came after its release.
-- Grain    one row
-- Params   $date, $n_records
-- Privacy  a count of records, assumed public
insert or replace into late_day by name
select $date as local_date, $n_records::bigint as n_records
