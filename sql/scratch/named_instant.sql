-- named_instant(): the instant of a time in ISO 8601 that ends in the name of a zone; null if it cannot be read.
-- Abbreviations are read only where the zone of times without an offset has them: the engine takes BST for Bangladesh.
-- Grain    a function of a time as it is written, a text
-- Reads    the variables time_zone, and zone_shifts: the microseconds of each abbreviation of that zone
-- Privacy  of a time alone, assumed public
create or replace temp macro named_instant(written) as
case
    when not ends_in_name(written) or zone_name(written) = getvariable('time_zone')
        then iso_instant(without_own_zone(written))
    when map_contains(getvariable('zone_shifts'), zone_name(written)) then iso_instant(
        regexp_replace(written, '\s*[A-Za-z]+$', ' UTC')
    ) - to_microseconds(getvariable('zone_shifts')[zone_name(written)])
    when regexp_matches(zone_name(written), '/|^(?i:utc|gmt|uct|zulu)$') then iso_instant(written)
end
