-- present_reason(): why a row is not used; null if it is. Everything is decided by the row itself.
-- A row without a value is not used: where presence is secret, a user's values may decide which of its rows count.
-- Grain    a function of whether a row is among those that count, of its fields, of the first instants of a day and of
--          the next, and of the values of the source that mean "not measured"
-- Privacy  SENSITIVE
create or replace temp macro present_reason(
    is_among, user_id, observed_at, latitude, longitude, value, day_start, day_end, missing
) as
case
    when not is_among then 'left_out'
    when observed_at is null then 'time_unreadable'
    when observed_at < day_start or observed_at >= day_end then 'time_outside_day'
    when user_id is null then 'no_user'
    when not coalesce(abs(latitude) <= 90 and abs(longitude) <= 180, false) then 'place_unreadable'
    when means_missing(value, missing) then 'no_value'
end
