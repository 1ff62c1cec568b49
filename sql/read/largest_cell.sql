-- The resolution of the largest cells that one day's records have as places, without a share of the largest.
-- Grain    one row; null if places are positions
-- Reads    raw_record, quarantine
-- Params   $date; $share: from 0 to 1
-- Privacy  of places alone, assumed public
select quantile_disc((place_cell >> 52) & 15, $share) as h3_resolution
from raw_record
anti join (select * from quarantine where local_date = $date) as rejected
    on rejected.file_id = raw_record.file_id
    and rejected.row_number = raw_record.row_number
where raw_record.local_date = $date and place_cell is not null
