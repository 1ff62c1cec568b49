-- released_file: which files a day was last released from, so that late records can be told.
-- Grain    one row per (local_date, file_id)
-- Privacy  public
create table if not exists released_file (
    local_date date not null,
    file_id integer not null
)
