-- prepared_file: the files that the occupancy array of a day was made from.
-- Grain    one row per (local_date, file_id)
-- Privacy  public
create table if not exists prepared_file (
    local_date date not null,
    file_id integer not null
)
