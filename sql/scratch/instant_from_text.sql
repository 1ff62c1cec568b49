-- instant_of(): the instant of a time that is ISO 8601 text or an instant; null if it cannot be read.
-- A time without an offset is read in the time zone of the session, which is the dataset's. The engine reads neither a
-- date nor an hour without marks between its parts, so these are added.
-- Grain    a function of a time as it is written; what other forms of times need is not used
-- Privacy  of a time alone, assumed public
create or replace temp macro instant_of(written, micros, time_format) as
coalesce(
    try_cast(written as timestamptz),
    try_cast(
        regexp_replace(
            written::varchar,
            '^\s*(\d{4})-?(\d\d)-?(\d\d)T(\d\d):?(\d\d):?(\d\d)',
            '\1-\2-\3T\4:\5:\6'
        ) as timestamptz
    )
)
