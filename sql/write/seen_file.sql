-- seen_file: stores where a file's content was seen, and in which version.
-- Grain    one row
-- Params   $path, $version, $settings_hash, $file_id
-- Privacy  public
insert or ignore into seen_file by name
select
    $path as path,
    $version as version,
    $settings_hash as settings_hash,
    $file_id::integer as file_id
