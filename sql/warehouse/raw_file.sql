-- raw_file: one file that has now been read whole.
-- Grain    one row
-- Params   $file_id, $content_hash, $name, $file_date, $n_rows, $n_malformed, $n_undated
-- Privacy  SENSITIVE: content_hash depends on values
insert into raw_file by name
select
    $file_id::integer as file_id,
    $content_hash as content_hash,
    $name as name,
    $file_date::date as file_date,
    $n_rows::bigint as n_rows,
    $n_malformed::bigint as n_malformed,
    $n_undated::bigint as n_undated
