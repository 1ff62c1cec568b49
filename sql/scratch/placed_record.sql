-- placed_record: the raw records with the places by which they are judged: their own, which are public.
-- Grain    one row per raw record
-- Reads    raw_record
-- Privacy  SENSITIVE
create or replace temp view placed_record as
select *
from raw_record
