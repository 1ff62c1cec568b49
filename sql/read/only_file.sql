-- The one file that a worker's temporary warehouse holds, for its note.
-- Grain    one row
-- Reads    raw_file
-- Privacy  SENSITIVE: content_hash depends on values
select name, content_hash, settings_hash, file_date::varchar as file_date, n_rows, n_malformed, n_undated, n_forgotten
from raw_file
