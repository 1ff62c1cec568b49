-- The files that were read as one and must be read one by one.
-- Their rows are not as many as were counted, or most times of one are of no year from 1990 to 2100: it may have
-- another form.
-- Grain    one row per file, or for all of them
-- Reads    file_of_row, incoming
-- Params   $is_declared BOOLEAN: whether the form of times is known
select which
from file_of_row
join incoming on incoming.row_number = file_of_row.number
where is_first and not $is_declared
group by which
having count(*) filter (observed_at between timestamptz '1990-01-01 00:00:00+00' and timestamptz '2100-01-01 00:00:00+00')
    < 0.9 * count(*)
union all
select null as which
from (select count(*) as n_counted, count(*) > 0 as are_merged from file_of_row)
where are_merged and n_counted <> (select count(*) from incoming)
