-- How many records each user of one local day has, and how many of them have no value that could be read.
-- Grain    one row per user_hash
-- Reads    user_cell, user_key
-- Params   $date
-- Privacy  SENSITIVE: private_n_missing; it leaves memory only as one noisy count over users
select user_hash, sum(n_records)::bigint as n_records, sum(n_missing)::bigint as private_n_missing
from user_cell
join user_key using (user_id)
where local_date = $date
group by user_hash
