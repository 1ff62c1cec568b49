-- What the mirror holds of each release: the number of its rows, and the hash of its ledger entry.
-- Grain    one row per release_id; entry_hash is null if there are rows but no charge
-- Reads    charge, statistic
-- Privacy  public
select release_id, entry_hash, coalesce(n_rows, 0) as n_rows
from charge
full join (select release_id, count(*) as n_rows from statistic group by release_id) using (release_id)
