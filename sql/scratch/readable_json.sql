-- readable_json(): a line whose JSON the engine reads: that line, or where it refuses it, the same with the character
-- U+FFFD in place of halves of surrogate pairs, which JSON's grammar allows in a text and the engine does not.
-- Grain    a function of a line
-- Privacy  SENSITIVE. Nothing else of a line that keeps to the grammar is changed: escaped backslashes are written
--          another way, so that no other backslash stands before one, and whole pairs are set apart as \U, which the
--          grammar does not know, while halves are replaced
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
