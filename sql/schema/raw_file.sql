-- raw_file: the input files that were read, each known by the hash of its content.
-- Grain    one row per content_hash
-- Units    counts are rows
-- Privacy  SENSITIVE: the hash and the size depend on private values; never leaves the warehouse
create table if not exists raw_file (
    file_id integer primary key,
    content_hash varchar not null unique,
    name varchar not null,
    file_date date,
    n_rows bigint not null,
    n_malformed bigint not null,
    n_undated bigint not null
)
