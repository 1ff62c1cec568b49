-- is_among(): whether each of some columns has one of its texts, so that a row counts; with no columns every row does.
-- Blanks around what a row has do not count. A row that lacks a column is not among those that count.
-- Grain    a function of a MAP of columns to what a row has, of a MAP of columns to their texts, and of the characters
--          to trim
-- Privacy  of columns that columns.only names, which are public; never of the value
create or replace temp macro is_among(fields, texts, blank) as
len(map_keys(texts)) = 0
or len(
    list_filter(
        map_entries(texts),
        lambda one: not coalesce(list_contains(one.value, trim(fields[one.key], blank)), false)
    )
) = 0
