-- What the mirror holds of each release: the hash of its ledger entry, and how many rows.
-- Grain    one row per release_id
-- Reads    charge, statistic
-- Privacy  public
select release_id, entry_hash, count(statistic.release_id) as n_rows
from charge
left join statistic using (release_id)
group by all
