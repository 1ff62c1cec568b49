-- was_forgotten(): whether a row belongs to a forgotten day, by its own local day or by its time.
-- A day that was forgotten in one time zone is parts of two days in another.
-- Grain    a function of a row's day and time, the forgotten days, and the instants where spans of them start and end
-- Privacy  of times alone, assumed public
create or replace temp macro was_forgotten(local_date, observed_at, dates, starts, ends) as
coalesce(list_contains(dates::date[], local_date), false)
or len(
    list_filter(
        list_zip(starts::timestamptz[], ends::timestamptz[]),
        lambda span: observed_at >= span[1] and observed_at < span[2]
    )
) > 0
