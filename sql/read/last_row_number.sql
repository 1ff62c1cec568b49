-- The last number of a row that is held of a file that is read in parts; 0 before the first.
-- Grain    one row
-- Reads    raw_record, quarantine
-- Params   $file_id
-- Privacy  a count of records, assumed public
select greatest(
    (select coalesce(max(row_number), 0) from raw_record where file_id = $file_id),
    (select coalesce(max(line_number), 0) from quarantine where file_id = $file_id)
)
