-- Writes one file's raw records as Parquet parts: all records of a user go to the same shard. Records that lie on another
-- day than the one their file is for are apart from the others, for that day may be forgotten.
-- Grain    one row per raw record, in a folder for each shard and local day, and whether they are such strays
-- Reads    raw_record, of a temporary warehouse that holds one file
-- Params   $file_id the coordinator's number of the file, $n_shards, $folder; $start and $end of the day that the file is
--          for, null where each row's own time tells its day
-- Privacy  SENSITIVE. The shard is told by the user id alone, the same on every machine and in every version; rows
--          without one are in the first
copy (
    select
        $file_id::integer as file_id,
        row_number,
        local_date,
        user_id,
        observed_at,
        latitude,
        longitude,
        value,
        coalesce(md5_number_lower(user_id) % $n_shards::ubigint, 0) as shard,
        coalesce(local_date::varchar, 'undated') as day,
        coalesce(observed_at < $start::timestamptz or observed_at >= $end::timestamptz, false) as stray
    from raw_record
) to $folder (format parquet, compression zstd, partition_by (shard, day, stray))
