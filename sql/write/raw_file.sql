-- raw_file: stores one file that was read completely, or a file of which a worker knows only id and name.
-- Grain    one row
-- Params   $file_id, $name, $content_hash, $settings_hash, $file_date, $n_rows, $n_malformed, $n_undated, $n_forgotten
-- Privacy  SENSITIVE: content_hash depends on values
insert into raw_file by name
select
    $file_id::integer as file_id,
    $name as name,
    $content_hash as content_hash,
    $settings_hash as settings_hash,
    $file_date::date as file_date,
    $n_rows::bigint as n_rows,
    $n_malformed::bigint as n_malformed,
    $n_undated::bigint as n_undated,
    $n_forgotten::bigint as n_forgotten
