-- The CSV files, of those that were read as one, whose rejected lines are not as many as were counted.
-- Grain    one row per file
-- Reads    file_part; rejected_line and rejected_scan, which keep those of earlier reads
-- Params   $path of what they were merged to
with rejected as (
    select which, count(distinct line_byte_position) as n_rejected
    from rejected_line
    asof join file_part on line_byte_position > first_byte
    where scan_id in (select scan_id from rejected_scan where file_path = $path)
    group by which
)

select which
from file_part
left join rejected using (which)
where n_malformed <> coalesce(n_rejected, 0)
