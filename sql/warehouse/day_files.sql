-- The files that hold rows of one local day or are for it, with all the rows that were read of each.
-- Grain    one row per file
-- Reads    raw_file, raw_record, quarantine
-- Params   $date, $file_ids
-- Privacy  SENSITIVE: content_hash depends on values
select name, content_hash, n_rows
from raw_file
where file_id in $file_ids
    and (file_date = $date or file_id in (select file_id from raw_record where local_date = $date))
order by name, file_id
