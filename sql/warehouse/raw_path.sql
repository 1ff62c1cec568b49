-- raw_path: where a file's content was seen, with the size and time by which it is known again.
-- Grain    one row
-- Params   $path, $n_bytes, $modified_ns, $settings_hash, $file_id
-- Privacy  SENSITIVE: sizes depend on private values
insert or ignore into raw_path by name
select
    $path as path,
    $n_bytes::bigint as n_bytes,
    $modified_ns::bigint as modified_ns,
    $settings_hash as settings_hash,
    $file_id::integer as file_id
