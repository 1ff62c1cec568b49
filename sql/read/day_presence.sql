-- How the records of one local day are shared among its users.
-- Grain    one row
-- Reads    user_cell
-- Params   $date
-- Units    n_single counts users with one record; n_largest is the number of records of the user with most; n_alone
--          counts users who share no slot with another one; n_alike those whose id is that of another one, spelled in
--          another way, or with what a copy of a file has beside its name
-- Privacy  counts of records and users, assumed public
with of_day as (
    select user_id, slot_start, n_records from user_cell where local_date = $date
),

of_slot as (
    select slot_start, count(distinct user_id) > 1 as is_shared from of_day group by slot_start
),

of_user as (
    select user_id, sum(n_records)::bigint as n_records, bool_or(is_shared) as is_shared
    from of_day
    join of_slot using (slot_start)
    group by user_id
),

plain as (
    select
        plain_id(user_id) as id,
        case
            when regexp_matches(user_id, '(?i)copy| \([0-9]+\)$')
                then plain_id(
                    regexp_replace(
                        lower(user_id), '^copy of |( \([0-9]+\)|( - |[ _-])copy( [0-9]+| \([0-9]+\))?)$', ''
                    )
                )
        end as copied
    from of_user
),

of_spelling as (
    select count(*) as n_users
    from plain
    left join (select distinct id from plain) as other on other.id = plain.copied
    group by coalesce(other.id, plain.id)
)

select
    count(*) as n_users,
    count(*) filter (n_records = 1) as n_single,
    coalesce(sum(n_records), 0)::bigint as n_records,
    coalesce(max(n_records), 0)::bigint as n_largest,
    count(*) filter (not is_shared) as n_alone,
    (select coalesce(sum(n_users) filter (n_users > 1), 0)::bigint from of_spelling) as n_alike
from of_user
