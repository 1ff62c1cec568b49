-- How many records with a bad place would lie in the area if latitude and longitude were swapped.
-- Grain    one row
-- Reads    quarantined_record
-- Params   $south, $north, $west, $east in degrees
-- Privacy  a count of records, assumed public
select count(*) as n_rows
from quarantined_record
where reason in ('place_outside_world', 'place_outside_area')
    and longitude between $south and $north
    and latitude between $west and $east
