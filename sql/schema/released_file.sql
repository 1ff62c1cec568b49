-- released_file: which files a release was made from, so that late records can be told. A release that the ledger
-- lacks was begun and not made.
-- Grain    one row per (release_id, file_id)
-- Privacy  public
create table if not exists released_file (
    release_id varchar not null,
    local_date date not null,
    file_id integer not null
)
