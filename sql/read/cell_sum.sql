-- The clipped integer sums of one local day before noise and, if wanted, the sums of squares about the midpoint.
-- Grain    one row per published (slot_start, h3_cell)
-- Reads    user_cell, user_key, the file $pairs
-- Params   $date, $pairs: path of the plan's pairs, $with_squares BOOLEAN
-- Units    private_mean_sum in ticks, private_square_sum in quarter squared ticks
-- Privacy  SENSITIVE: exact sums; they leave memory only with noise on them
select columns(lambda c: $with_squares or c <> 'private_square_sum')
from (
    select
        slot_start,
        h3_cell,
        sum(greatest(mean_lower, least(total_ticks, mean_lower + mean_width)))::decimal(38, 0) as private_mean_sum,
        sum(greatest(square_lower, least(total_squares, square_lower + square_width)))::decimal(38, 0)
            as private_square_sum
    from (
        from read_parquet($pairs, hive_partitioning = false)
        union all by name
        select null::bigint as square_lower, null::bigint as square_width
        where false
    )
    join user_key using (user_hash)
    join user_cell using (slot_start, h3_cell, user_id)
    where local_date = $date
    group by all
)
order by slot_start, h3_cell
