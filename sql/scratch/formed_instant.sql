-- formed_instant(): the instant of a time of a form with the name of a zone, %Z; null if it cannot be read.
-- Abbreviations are read only where the zone of times without an offset has them: the engine takes BST for Bangladesh.
-- Grain    a function of a time as it is written, a text, and of its form
-- Reads    the variables zone_words: a pattern of that zone's abbreviations, and zone_shifts: the microseconds of each
-- Privacy  of a time alone, assumed public
create or replace temp macro formed_instant(written, time_format) as
case
    when regexp_matches(written, getvariable('zone_words')) then try_strptime(
        regexp_replace(written, getvariable('zone_words'), '\1UTC\3'),
        time_format
    )::timestamptz - to_microseconds(getvariable('zone_shifts')[regexp_extract(written, getvariable('zone_words'), 2)])
    when regexp_matches(written, '(?i)[a-z]/[a-z]|(^|[^a-z])(utc|gmt|uct|zulu|z)($|[^a-z])')
        then try_strptime(written, time_format)::timestamptz
end
