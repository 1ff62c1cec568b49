-- Whether the mirror holds the same charge of a release as the ledger.
-- Grain    one row if so
-- Reads    charge
-- Params   $number, $release_id, $date, $revision, $epsilon, $epsilon_total_after, $committed_at, $hash: of the entry
-- Privacy  public
select 1
from charge
where release_id = $release_id
    and number = $number::bigint
    and local_date = $date::date
    and revision is not distinct from $revision::varchar
    and epsilon = $epsilon::double
    and epsilon_total_after = $epsilon_total_after::double
    and committed_at = $committed_at::timestamptz
    and entry_hash = $hash
