-- released_file: the files that a release was made from, to find late records.
-- Grain    one row per (release_id, file_id); a release that is not in the ledger was begun but not made
-- Privacy  public
create table if not exists released_file (
    release_id varchar not null,
    local_date date not null,
    file_id integer not null
)
