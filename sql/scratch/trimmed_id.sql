-- trimmed_id(): a user id without blanks before and after it; null if nothing is left, or if it went through a float.
-- 12.0 and 12 would be two users, and 3.5E+14 would be many: such a text is no id, as a JSON number with a point and a
-- Parquet column of doubles are none. Trimming is slow, and not needed if the id begins and ends with printable ASCII;
-- the expression is slower, and not needed without a mark in the text.
-- Grain    a function of a text and of the characters to trim
-- Privacy  SENSITIVE: an id
create or replace temp macro trimmed_id(written, blank) as
case
    when written < ':'
        and (contains(written, '.') or contains(written, ',') or contains(written, 'e') or contains(written, 'E'))
        and regexp_full_match(
            trim(written, blank),
            '[+-]?[0-9]+([.,]0*|([.,][0-9]+)?[eE][+-][0-9]+|[.,][0-9]+[eE][0-9]+)'
        ) then null
    when written between '!' and '~' and substring(written, -1) between '!' and '~' then written
    else nullif(trim(written, blank), '')
end
