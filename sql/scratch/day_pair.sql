-- day_pair: how often each user was in each cell of one local day, and what the user's records add up to.
-- Grain    one row per (slot_start, h3_cell, user_id)
-- Reads    record, validated_day
-- Params   $date, $n_ticks, $with_squares BOOLEAN, $apart BOOLEAN: whether records in no box are first grouped by
--          place, and H3 is then called once per group
-- Units    total_ticks and total_squares are exact integers, with the midpoint for each of the n_missing values;
--          lowest_ticks is null if any record has no ticks
-- Privacy  SENSITIVE
create or replace temp table day_pair as
with counted as (
    select
        slot_start,
        h3_cell,
        case when h3_cell is null then latitude end as latitude,
        case when h3_cell is null then longitude end as longitude,
        user_id,
        count(*) as n_records,
        count(*) filter (was_missing) as n_missing,
        sum(value_ticks) as total_ticks,
        sum(case when $with_squares then (2 * value_ticks - $n_ticks) * (2 * value_ticks - $n_ticks) end)
            as total_squares,
        case when count(value_ticks) = count(*) then min(value_ticks) end as lowest_ticks,
        max(value_ticks) as highest_ticks
    from record($date, apart := $apart)
    group by all
),

placed as (
    select
        * replace (
            coalesce(
                h3_cell,
                h3_cell(latitude, longitude, (select h3_resolution from validated_day where local_date = $date))
            ) as h3_cell
        )
    from counted
)

select
    $date::date as local_date,
    slot_start,
    h3_cell,
    user_id,
    sum(n_records)::bigint as n_records,
    sum(n_missing)::bigint as n_missing,
    sum(total_ticks) as total_ticks,
    sum(total_squares) as total_squares,
    case when count(lowest_ticks) = count(*) then min(lowest_ticks) end as lowest_ticks,
    max(highest_ticks) as highest_ticks
from placed
group by all
