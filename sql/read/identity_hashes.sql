-- The identity hashes of one local day's raw records, or of one part of them.
-- Grain    one row per raw record of the day whose hash leaves $part when divided by $n_parts
-- Reads    placed_record
-- Params   $date, $file_ids, $n_parts, $part: 0 to $n_parts - 1; $apart: by how many microseconds at most a record
--          follows one that it repeats; if some, the hashes are without the time
-- Privacy  SENSITIVE: a hash is that of a record
select identity_hash
from (
    select identity_hash(user_id, case when $apart = 0 then observed_at end, latitude, longitude) as identity_hash
    from placed_record
    where local_date = $date and file_id in $file_ids
)
where identity_hash % $n_parts::ubigint = $part::ubigint
