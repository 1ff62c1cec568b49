-- raw_path: where a raw_file was seen, so that an unchanged file is not hashed again.
-- Grain    one row per (path, n_bytes, modified_ns, settings_hash)
-- Privacy  SENSITIVE: sizes depend on private values; never leaves the warehouse
create table if not exists raw_path (
    path varchar not null,
    n_bytes bigint not null,
    modified_ns bigint not null,
    settings_hash varchar not null,
    file_id integer not null,
    primary key (path, n_bytes, modified_ns, settings_hash)
)
