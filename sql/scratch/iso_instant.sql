-- iso_instant(): the instant of a time in ISO 8601, or of an instant; null if it cannot be read.
-- The engine reads neither a date nor an hour without marks between its parts, nor an hour alone: these are added.
-- A time that is none of text is told apart first: the engine would write each as text, though none is read then.
-- Grain    a function of a time as it is written
-- Privacy  of a time alone, assumed public
create or replace temp macro iso_instant(written) as
case
    when typeof(written) like 'TIMESTAMP%' then try_cast(written as timestamptz)
    else coalesce(
        try_cast(written as timestamptz),
        try_cast(
            regexp_replace(
                written::varchar,
                '^\s*(\d{4})-?(\d\d)-?(\d\d)T(\d\d):?(\d\d):?(\d\d)',
                '\1-\2-\3T\4:\5:\6'
            ) as timestamptz
        ),
        try_cast(
            regexp_replace(
                written::varchar,
                '^\s*(\d{4})-?(\d\d)-?(\d\d)[T ](\d\d)\s*$',
                '\1-\2-\3 \4:00'
            ) as timestamptz
        )
    )
end
