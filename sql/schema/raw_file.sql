-- raw_file: the input files that were read, each identified by name, content and the settings it was read with.
-- A copy under another name is a file too, with only duplicates. If it were skipped, equal content would be visible.
-- Grain    one row per (name, content_hash, settings_hash)
-- Units    counts are rows; n_rows was counted without the engine
-- Privacy  SENSITIVE: content_hash depends on values and never leaves the warehouse
create table if not exists raw_file (
    file_id integer primary key,
    name varchar not null,
    content_hash varchar not null,
    settings_hash varchar not null,
    file_date date,
    n_rows bigint not null,
    n_malformed bigint not null,
    n_undated bigint not null,
    n_forgotten bigint not null,
    unique (name, content_hash, settings_hash)
)
