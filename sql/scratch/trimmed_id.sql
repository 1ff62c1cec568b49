-- trimmed_id(): a user id without blanks before and after it; null if nothing is left.
-- Trimming is slow, and not needed if the id begins and ends with printable ASCII.
-- Grain    a function of a text and of the characters to trim
-- Privacy  SENSITIVE: an id
create or replace temp macro trimmed_id(written, blank) as
case
    when written between '!' and '~' and substring(written, -1) between '!' and '~' then written
    else nullif(trim(written, blank), '')
end
