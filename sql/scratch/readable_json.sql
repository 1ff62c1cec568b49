-- readable_json(): a line of JSON, changed where the engine would refuse what the grammar allows.
-- The engine refuses a half of a surrogate pair in a text: U+FFFD takes its place. Escaped backslashes are written
-- another way first, so that no other backslash stands before one; and whole pairs are set apart as \U, which the
-- grammar does not know, while halves are replaced. Nothing else of a line that keeps to the grammar is changed.
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
