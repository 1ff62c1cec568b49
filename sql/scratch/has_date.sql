-- has_date(): whether a text has a date, and is no time of day: in digits, with a month's name, or since 1970.
-- Grain    a function of a text
-- Privacy  of a time alone, assumed public
create or replace temp macro has_date(written) as regexp_matches(
    written,
    '^\s*\d{10,}|\d{4}[-/.]\d{1,2}[-/.]\d|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}'
    || '|[A-Za-z]{3}[a-z]*[-, ]+\d.*\d{4}|\d[- ][A-Za-z]{3}[a-z]*[-, ]+\d{4}'
)
