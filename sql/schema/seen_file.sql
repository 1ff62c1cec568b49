-- seen_file: where a raw_file was seen, so that an unchanged file is not read again.
-- Grain    one row per (path, version, settings_hash)
-- Privacy  public; a file's size is not used, because it depends on values
create table if not exists seen_file (
    path varchar not null,
    version varchar not null,
    settings_hash varchar not null,
    file_id integer not null,
    primary key (path, version, settings_hash)
)
