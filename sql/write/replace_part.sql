-- raw_part: replaces the name of a part by that of the new part, which holds the kept records.
-- Grain    one row is changed
-- Params   $name, $kept_name, $n_rows
-- Privacy  counts of records of some users together, assumed public
update raw_part set name = $kept_name, n_rows = $n_rows::bigint
where name = $name
