-- raw_part: names, in place of a part, the one that holds what is kept of it.
-- Grain    one row is changed
-- Params   $name, $kept_name, $n_rows
-- Privacy  counts of records of some users together, assumed public
update raw_part set name = $kept_name, n_rows = $n_rows::bigint
where name = $name
