-- without_own_zone(): a time without the name of the zone, if that is the zone of times without an offset.
-- Grain    a function of a time as it is written, a text; the zone is in the variable time_zone
-- Privacy  of a time alone, assumed public
create or replace temp macro without_own_zone(written) as
case
    when ends_in_name(written) and zone_name(without_bracket(written)) = getvariable('time_zone')
        then regexp_replace(without_bracket(written), '\s*[A-Za-z][A-Za-z0-9_/+-]*$', '')
    else written
end
