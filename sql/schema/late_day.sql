-- late_day: how many records of each released day came after its release; they are in raw_record.
-- Grain    one row per local_date
-- Privacy  counts of records, assumed public
create table if not exists late_day (
    local_date date primary key,
    n_records bigint not null
)
