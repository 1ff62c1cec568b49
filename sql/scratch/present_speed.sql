-- present_row: the rows of a day again, with the speed from the same user's fix before in that local day as value.
-- What a user said twice is one row; fixes of one instant are in the order of their places. Who stands at 0, 0 has no
-- fix, as no place is known. A row without a speed is not used, as one without a value is not.
-- Grain    one row per (user_id, observed_at, place) that is used, and one per row that is not
-- Reads    present_row
-- Params   $longest_gap in microseconds; $per_metre_a_second: of the unit
-- Units    value is in the unit that is published
-- Privacy  SENSITIVE: nothing is decided by rows of another user
create or replace temp table present_row as
with fix as (
    select distinct user_id, observed_at, latitude, longitude
    from present_row
    where reason is null and (latitude <> 0 or longitude <> 0)
),

followed as (
    select
        *,
        lag(latitude) over same as latitude_before,
        lag(longitude) over same as longitude_before,
        epoch_us(observed_at) - epoch_us(lag(observed_at) over same) as gap
    from fix
    window same as (partition by user_id order by observed_at, latitude, longitude)
),

moved as (
    select
        user_id,
        observed_at,
        latitude,
        longitude,
        speed_of(
            radians(latitude),
            radians(longitude),
            radians(latitude_before),
            radians(longitude_before),
            gap,
            $longest_gap,
            $per_metre_a_second
        ) as value
    from followed
)

select *, null::ubigint as place_cell, if(value is null, 'no_value', null) as reason
from moved
union all by name
select * replace (coalesce(reason, 'no_value') as reason)
from present_row
where reason is not null or (latitude = 0 and longitude = 0)
