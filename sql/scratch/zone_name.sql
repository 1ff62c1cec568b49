-- zone_name(): the name of a zone at the end of a text; '' if there is none.
-- Grain    a function of a time as it is written
-- Privacy  of a time alone, assumed public
create or replace temp macro zone_name(written) as
regexp_extract(written, '\d\s*([A-Za-z][A-Za-z0-9_/+-]*)$', 1)
