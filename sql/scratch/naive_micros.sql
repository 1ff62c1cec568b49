-- naive_micros(): a time without an offset as microseconds since 1970, as if it were UTC; null if it has an offset.
-- Whatever instant_of reads has none, unless one ends it, or the name of another zone does.
-- Grain    a function of a time as it is written, of the microseconds that it counts, and of its form: see instant_of
-- Privacy  of a time alone, assumed public
create or replace temp macro naive_micros(written, micros, time_format) as
case
    when micros is not null or regexp_matches(time_format, '%[zZ]') then null
    when time_format is not null then epoch_us(try_strptime(trim(written::varchar), time_format)::timestamp)
    when not regexp_matches(
        without_own_zone(written::varchar),
        '\d([T ]\d{4}(\d\d([.,]\d+)?)?|:.*?)([+-]\d\d(:?\d\d(:?\d\d)?)?|\s*[A-Za-z][A-Za-z0-9_/+-]*)\s*$'
    ) then epoch_us(
        try_cast(
            regexp_replace(
                regexp_replace(
                    trim(without_own_zone(written::varchar)),
                    '^(\d{4})-?(\d\d)-?(\d\d)T(\d\d):?(\d\d):?(\d\d)',
                    '\1-\2-\3T\4:\5:\6'
                ),
                '^(\d{4})-?(\d\d)-?(\d\d)[T ](\d\d)$',
                '\1-\2-\3 \4:00'
            ) as timestamp
        )
    )
end
