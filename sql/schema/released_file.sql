-- released_file: which files a release was made from, so that late records can be told.
-- Grain    one row per (release_id, file_id); a release that the ledger lacks was begun and not made
-- Privacy  public
create table if not exists released_file (
    release_id varchar not null,
    local_date date not null,
    file_id integer not null
)
