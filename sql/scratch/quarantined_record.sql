-- quarantined_record: the raw records of one local day that break a rule or are repeated, with the first such rule.
-- Few records are suspect. To find the rule that a record breaks takes longer than to find that it breaks one.
-- Grain    one row per such record
-- Reads    placed_record, raw_file, repeated_hash (the hashes that several of the day's records have)
-- Params   $date, $file_ids: the day's files as they are now; $day_start, $day_end in UTC;
--          $south, $north, $west, $east in degrees; $h3_resolution of the hexagons; $apart: by how many microseconds
--          at most a record follows one that it repeats, at the same place. Where they follow each other as closely
--          for longer, as those of a fix a second do, one counts in each such time
-- Privacy  SENSITIVE. No rule looks at the value. Which of several duplicates is kept depends on the names of their
--          files and their order, never on content
create or replace temp table quarantined_record as
with suspect as (
    select file_id, row_number, user_id, observed_at, latitude, longitude, clock_shift, place_cell
    from placed_record
    where local_date = $date and file_id in $file_ids
        and (
            not coalesce(
                user_id is not null and clock_shift is null
                and observed_at >= $day_start and observed_at < $day_end
                and latitude between $south and $north and longitude between $west and $east
                and (latitude <> 0 or longitude <> 0)
                and not coalesce(is_larger(place_cell, $h3_resolution), false),
                false
            )
            or identity_hash(user_id, case when $apart = 0 then observed_at end, latitude, longitude) in (
                select identity_hash from repeated_hash
            )
        )
),

ruled as (
    select
        *,
        case
            when observed_at is null then 'time_unreadable'
            when observed_at < $day_start or observed_at >= $day_end then 'time_outside_day'
            when clock_shift > 0 then 'time_never'
            when clock_shift < 0 then 'time_twice'
            when user_id is null then 'no_user'
            when latitude is null or longitude is null then 'place_unreadable'
            when isnan(latitude) or isnan(longitude) then 'place_unreadable'
            when abs(latitude) > 90 or abs(longitude) > 180 then 'place_outside_world'
            when latitude = 0 and longitude = 0 then 'place_zero'
            when latitude not between $south and $north or longitude not between $west and $east
                then 'place_outside_area'
            when is_larger(place_cell, $h3_resolution) then 'cell_too_large'
        end as rule
    from suspect
),

following as (
    select
        ruled.*,
        name,
        epoch_us(observed_at) as micros,
        coalesce(epoch_us(observed_at) - epoch_us(lag(observed_at) over same) <= $apart, false) as follows
    from ruled
    join raw_file using (file_id)
    window same as (
        partition by rule, user_id, latitude, longitude
        order by observed_at, name, file_id, row_number
    )
),

fix as (
    select
        *,
        last_value(if(follows, null, micros) ignore nulls) over (
            partition by rule, user_id, latitude, longitude
            order by observed_at, name, file_id, row_number
        ) as first_micros
    from following
)

select
    file_id,
    row_number,
    latitude,
    longitude,
    case
        when rule is not null then rule
        when follows and (micros - first_micros) // ($apart + 1) = lag((micros - first_micros) // ($apart + 1)) over (
            partition by rule, user_id, latitude, longitude
            order by observed_at, name, file_id, row_number
        ) then 'duplicate'
    end as reason
from fix
qualify reason is not null
