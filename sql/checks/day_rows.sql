-- A day whose rows do not add up: raw records = valid records + records in quarantine.
-- Grain    one row if they do not
-- Reads    raw_record, quarantine
-- Params   $date, $file_ids, $n_kept: the valid records
select n_raw, n_quarantined
from (
    select
        (select count(*) from raw_record where local_date = $date and file_id in $file_ids) as n_raw,
        (select count(*) from quarantine where local_date = $date and row_number is not null) as n_quarantined
)
where n_raw <> $n_kept + n_quarantined
