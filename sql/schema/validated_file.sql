-- validated_file: the files that the valid records of a day were last taken from.
-- Grain    one row per (local_date, file_id)
-- Privacy  public
create table if not exists validated_file (
    local_date date not null,
    file_id integer not null
)
