-- joined_time(): one time from two texts, as written_time says; null if neither is whole and they are none together.
-- A whole time has a date and a time of day, or is a number of ten digits. A date at midnight is a date alone.
-- Grain    a function of two texts, and of the declared form of whole times, or null
-- Privacy  of a time alone, assumed public
create or replace temp macro joined_time(first, second, time_format) as
case
    when coalesce(trim(second), '') = '' or has_date(second) then case
        when is_whole_time(first) then first
        when is_whole_time(second) then trim(second)
    end
    when time_format is not null then first || ' ' || second
    else regexp_replace(
        regexp_replace(trim(first), '[T ]00:00(:00(\.0+)?)?(Z|[+-]00(:?00)?)?$', ''),
        '^(\d{4})(\d\d)(\d\d)$',
        '\1-\2-\3'
    ) || ' ' || case
        when regexp_full_match(trim(second), '\d{1,2}(\.0*)?') then lpad(regexp_extract(second, '\d+'), 2, '0') || ':00'
        else second
    end
end
