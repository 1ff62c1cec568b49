-- What each user's records add up to in the published cells of one local day before noise, and, if wanted, the squares.
-- Grain    one row per (slot_start, h3_cell, user_hash) of the plan
-- Reads    user_cell, user_key, the file $pairs
-- Params   $date, $pairs: path of the plan's pairs, $with_squares BOOLEAN
-- Units    private_mean_total in ticks, with the midpoint for each of private_n_missing values; private_square_total in
--          quarter squared ticks
-- Privacy  SENSITIVE: exact totals; they leave memory only averaged, summed and with noise on them
select columns(lambda c: $with_squares or c <> 'private_square_total')
from (
    select
        slot_start,
        h3_cell,
        user_hash,
        total_ticks::decimal(38, 0) as private_mean_total,
        total_squares::decimal(38, 0) as private_square_total,
        n_missing as private_n_missing
    from read_parquet($pairs, hive_partitioning = false)
    join user_key using (user_hash)
    join user_cell using (slot_start, h3_cell, user_id)
    where local_date = $date
)
