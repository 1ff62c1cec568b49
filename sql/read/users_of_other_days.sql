-- How many users other days have in the files that are read as a day's files are, and how many of the day's are there.
-- If there are days at least two away, only those count: users that change at another hour than midnight are on two.
-- Grain    one row
-- Reads    user_cell, raw_record, raw_file, validated_file
-- Params   $date
-- Privacy  counts of users, assumed public
with of_day as (
    select distinct user_id from user_cell where local_date = $date
),

of_all_others as (
    select user_id, max(abs(local_date - $date::date)) >= 2 as is_far
    from raw_record
    where local_date <> $date and user_id is not null
        and file_id in (
            select file_id
            from raw_file
            where settings_hash in (
                select settings_hash
                from raw_file
                join validated_file using (file_id)
                where validated_file.local_date = $date
            )
        )
    group by user_id
),

of_others as (
    select user_id from of_all_others where is_far or not (select bool_or(is_far) from of_all_others)
)

select
    (select count(*) from of_others) as n_known,
    (select count(*) from of_day semi join of_others using (user_id)) as n_seen
