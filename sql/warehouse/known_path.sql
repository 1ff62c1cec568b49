-- Whether a file was seen at this path with this size and time, and was read as now.
-- Grain    one row if it was
-- Params   $path, $n_bytes, $modified_ns, $settings_hash
select file_id
from raw_path
where path = $path and n_bytes = $n_bytes and modified_ns = $modified_ns
    and settings_hash = $settings_hash
