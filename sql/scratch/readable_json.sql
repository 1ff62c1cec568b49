-- readable_json(): a line of JSON, changed if the grammar allows it but the engine would refuse it.
-- The engine refuses half of a surrogate pair in a text, so U+FFFD replaces it. First, escaped backslashes are written
-- in another way, so that no other backslash comes before one. While halves are replaced, whole pairs are marked with
-- \U, which the grammar does not have. Nothing else in a line that follows the grammar is changed.
-- Grain    a function of a line
-- Privacy  SENSITIVE: a record
create or replace temp macro readable_json(line) as
case
    when json_valid(line) then line
    when contains(replace(line, '\\', '\u005c'), '\U') then line
    else replace(
        regexp_replace(
            regexp_replace(
                replace(line, '\\', '\u005c'),
                '\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})',
                '\\U\1\\U\2',
                'g'
            ),
            '\\u[dD][89a-fA-F][0-9a-fA-F]{2}',
            '\\ufffd',
            'g'
        ),
        '\U',
        '\u'
    )
end
