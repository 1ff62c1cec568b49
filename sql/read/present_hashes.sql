-- The identity hashes of the rows of one local day that are used, or of one part of them.
-- Grain    one row per such row whose hash leaves $part when divided by $n_parts
-- Reads    present_row
-- Params   $n_parts; $part: 0 to $n_parts - 1
-- Privacy  SENSITIVE: a hash is that of a row
select identity_hash
from (
    select identity_hash(user_id, observed_at, latitude, longitude) as identity_hash
    from present_row
    where reason is null
)
where identity_hash % $n_parts::ubigint = $part::ubigint
