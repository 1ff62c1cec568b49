-- means_missing(): whether a value of the source means "not measured": it is empty, no number, or in the list.
-- Grain    a function of a value and of a list of values, both in the source's unit
-- Privacy  SENSITIVE: it tells of a value
create or replace temp macro means_missing(value, missing) as
    value is null or isnan(value) or case when len(missing) > 0 then list_contains(missing, value) else false end
