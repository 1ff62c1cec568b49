-- Whether a day's occupancy array holds more or fewer records than the records that are not in quarantine.
-- Grain    one row if so
-- Reads    user_cell, raw_record, validated_file, quarantine
-- Params   $date
select n_held, n_raw, n_quarantined
from (
    select
        (select coalesce(sum(n_records), 0) from user_cell where local_date = $date) as n_held,
        (
            select count(*)
            from raw_record
            where local_date = $date
                and file_id in (select file_id from validated_file where local_date = $date)
        ) as n_raw,
        (select count(*) from quarantine where local_date = $date and row_number is not null) as n_quarantined
)
where n_held is distinct from n_raw - n_quarantined
