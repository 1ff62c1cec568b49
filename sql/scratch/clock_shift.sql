-- clock_shift(): by how much the clock went forward in the span that a time without an offset is in; else null.
-- Above 0 the time was skipped, and never was. Below 0 it was twice.
-- Grain    a function of the microseconds of a time without an offset; the changes of the clock are in the variable
--          clock_changes: the first and the next microsecond of each span, and by how many the clock went forward there
-- Units    microseconds
-- Privacy  of a time alone, assumed public
create or replace temp macro clock_shift(micros) as
list_filter(
    getvariable('clock_changes')::bigint[][],
    lambda change: micros >= change[1] and micros < change[2]
)[1][3]
