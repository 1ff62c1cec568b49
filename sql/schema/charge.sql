-- charge: the cost of each release for the user it cost most, copied for queries; the ledger is the original.
-- Grain    one row per release_id
-- Units    epsilon and epsilon_total_after are privacy losses
-- Privacy  public
create table if not exists charge (
    number bigint not null,
    release_id varchar not null,
    local_date date not null,
    revision varchar,
    epsilon double not null,
    epsilon_total_after double not null,
    committed_at timestamptz not null,
    entry_hash varchar not null
)
