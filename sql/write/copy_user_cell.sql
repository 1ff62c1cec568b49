-- user_cell: is written completely to a file, from a worker's temporary warehouse.
-- Parquet has no 128-bit integers, so totals are written as decimals with 38 digits, which are exact.
-- Grain    that of user_cell
-- Params   $path
-- Privacy  SENSITIVE
copy (
    select * replace (total_ticks::decimal(38, 0) as total_ticks, total_squares::decimal(38, 0) as total_squares)
    from user_cell
) to $path (format parquet, compression zstd)
