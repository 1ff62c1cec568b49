-- told_time: times of a file that were twice, where the order of the rows tells in which of the two hours they were.
-- The rows of one user, or of the whole file, go forwards in time. Where they step back within the span, the second
-- hour begins; a row that comes late steps forward again, into the first. Rows that go backwards are read from the end.
-- Grain    one row per such time
-- Reads    raw_record
-- Params   $file_id; $by_user BOOLEAN: whether the rows of each user are looked at apart; $tolerance: a step back of at
--          most so many microseconds is none; $jump: a step forward of more is one into the first hour
-- Units    shown is what the clock showed, in microseconds; a span is within one day, counted from noon
-- Privacy  of users and times alone, assumed public; no value is read
create or replace temp table told_time as
with ordered as (
    select
        row_number,
        observed_at,
        clock_shift,
        if($by_user, coalesce(user_id, ''), '') as whose,
        epoch_us(observed_at::timestamp) as shown,
        (shown + 43200000000) // 86400000000 as span,
        shown - lag(shown) over same as step,
        coalesce(clock_shift < 0 and lag(clock_shift) over same < 0 and abs(step) < -clock_shift, false) as is_within
    from raw_record
    where file_id = $file_id and observed_at is not null
    window same as (partition by if($by_user, coalesce(user_id, ''), '') order by row_number)
),

direction as (
    select whose, if(count(*) filter (step > 0) >= count(*) filter (step < 0), 1, -1) as way
    from ordered
    group by whose
),

in_order as (
    select whose, any_value(way) as way
    from ordered
    join direction using (whose)
    group by whose
    having count(*) filter (not is_within and step * way < -($tolerance::bigint)) = 0
),

stepped as (
    select
        ordered.*,
        way,
        way * (shown - lag(shown) over (partition by whose, span order by row_number)) as step_within
    from ordered
    join in_order using (whose)
    where clock_shift < 0
),

levelled as (
    select
        *,
        sum(
            case when step_within < -($tolerance::bigint) then 1 when step_within > $jump::bigint then -1 else 0 end
        ) over (partition by whose, span order by row_number) as level
    from stepped
)

select
    row_number,
    if((level = 0) = (way = 1), observed_at + to_microseconds(clock_shift), observed_at) as observed_at
from levelled
qualify min(level) over (partition by whose, span) = 0 and max(level) over (partition by whose, span) = 1
