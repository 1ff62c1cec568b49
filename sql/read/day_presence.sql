-- How the records of one local day are shared among its users.
-- Grain    one row
-- Reads    user_cell
-- Params   $date
-- Units    n_single counts users with one record; n_largest is the number of records of the user with most
-- Privacy  counts of records and users, assumed public
select
    count(*) as n_users,
    count(*) filter (n_records = 1) as n_single,
    coalesce(sum(n_records), 0)::bigint as n_records,
    coalesce(max(n_records), 0)::bigint as n_largest
from (select sum(n_records)::bigint as n_records from user_cell where local_date = $date group by user_id)
