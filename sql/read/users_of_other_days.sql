-- How many users other days have in the files that are read as a day's files are, and how many of the day's are there.
-- Grain    one row
-- Reads    user_cell, raw_record, raw_file, validated_file
-- Params   $date
-- Privacy  counts of users, assumed public
with of_day as (
    select distinct user_id from user_cell where local_date = $date
),

of_others as (
    select distinct user_id
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
)

select
    (select count(*) from of_others) as n_known,
    (select count(*) from of_day semi join of_others using (user_id)) as n_seen
