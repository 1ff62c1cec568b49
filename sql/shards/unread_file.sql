-- raw_file: a file by number and name alone, in a worker's temporary warehouse: the rules tell duplicates by them.
-- Grain    one row
-- Params   $file_id, $name
-- Privacy  public
insert into raw_file by name
select
    $file_id::integer as file_id,
    $name as name,
    '' as content_hash,
    '' as settings_hash,
    0 as n_rows,
    0 as n_malformed,
    0 as n_undated,
    0 as n_forgotten
