-- without_bracket(): a time whose zone is not in brackets: behind an offset it says nothing more.
-- Grain    a function of a time as it is written, a text
-- Privacy  of a time alone, assumed public
create or replace temp macro without_bracket(written) as
regexp_replace(
    regexp_replace(rtrim(written), '([+-]\d\d(:?\d\d)?|[Zz])\[[^\]]*\]$', '\1'),
    '\[([^\]]+)\]$',
    ' \1'
)
