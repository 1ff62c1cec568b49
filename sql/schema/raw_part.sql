-- raw_part: the part files in the shards' storage that hold a file's raw records, if workers read the file.
-- Grain    one row per part: records of one file, one shard and one local day
-- Units    n_rows counts raw records; n_shards is the number of shards that the users were divided among; is_stray says
--          that all its records have a time on another day than the one their file is for
-- Privacy  counts of records of some users together, assumed public; the parts themselves are SENSITIVE
create table if not exists raw_part (
    name varchar primary key,
    file_id integer not null,
    shard integer not null,
    n_shards integer not null,
    local_date date,
    n_rows bigint not null,
    is_stray boolean not null
)
