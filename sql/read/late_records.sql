-- How many records of each released day are in these files, and in no file that the day was released from.
-- is_noted is false if the warehouse does not know the files of the release; then only n_rows can be used.
-- Grain    one row per released local_date that has rows in these files
-- Reads    placed_record, released_file, released_day (each released day's last release)
-- Params   $file_ids; $apart: by how many microseconds the times of one fix may differ
-- Privacy  counts of records, identified by user, time and place; no value is read
with released as (
    select released_file.local_date, file_id
    from released_file
    join released_day using (release_id)
),

other_file as (
    select
        local_date,
        user_id,
        observed_at,
        latitude,
        longitude,
        exists (
            select 1
            from placed_record as used
            join released using (local_date, file_id)
            where used.local_date = placed_record.local_date
                and used.user_id is not distinct from placed_record.user_id
                and if($apart = 0, used.observed_at, null)
                    is not distinct from if($apart = 0, placed_record.observed_at, null)
                and coalesce(abs(epoch_us(used.observed_at) - epoch_us(placed_record.observed_at)) <= $apart, true)
                and used.latitude is not distinct from placed_record.latitude
                and used.longitude is not distinct from placed_record.longitude
        ) as is_known
    from placed_record
    join released_day using (local_date)
    where file_id in $file_ids
        and (local_date, file_id) not in (select (local_date, file_id) from released)
)

select
    local_date,
    local_date in (select local_date from released) as is_noted,
    count(distinct (user_id, observed_at, latitude, longitude)) filter (not is_known) as n_unknown,
    count(*) as n_rows
from other_file
group by local_date
order by local_date
