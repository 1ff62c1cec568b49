-- plain_id(): a user id as it is compared with others: `Person 7`, `person_07` and `PERSON-7` are the same.
-- Small letters; no zeros before a whole number; of what is neither letter nor digit only what parts two numbers, as in
-- 12-3, which is not 1-23. A number of six bytes or more in hexadecimals has none of it: e8:31:cd:00:12:7f. An id of
-- signs alone stays as it is.
-- Grain    a function of a text
-- Privacy  SENSITIVE: an id
create or replace temp macro plain_id(user_id) as
case
    when
        regexp_full_match(user_id, '[^0-9A-Za-z]?([0-9A-Fa-f]{2}[^0-9A-Za-z]?)+')
        and length(regexp_replace(user_id, '[^0-9A-Za-z]+', '', 'g')) >= 12
        and regexp_matches(user_id, '[A-Fa-f]')
        then lower(regexp_replace(user_id, '[^0-9A-Za-z]+', '', 'g'))
    else coalesce(nullif(trim(
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(lower(nfc_normalize(user_id)), '(^|[^0-9.,])0+([0-9])', '\1\2', 'g'),
                    '[^\pL\pM\pN\p{So}]+', '-', 'g'
                ),
                '([^\pN])-', '\1', 'g'
            ),
            '-([^\pN])', '\1', 'g'
        ),
        '-'
    ), ''), user_id)
end
