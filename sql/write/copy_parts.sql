-- Writes a file's raw records as Parquet parts: all records of a user go to the same shard.
-- Only the user id decides the shard, on every machine and in every version; rows without an id go to the first shard.
-- Records of another day than the one their file is for go to separate parts, because that day may be forgotten.
-- Grain    one row per raw record, in a folder per shard, local day, and whether the records are of another day
-- Reads    raw_record
-- Params   $file_id: the coordinator's id of the file; $n_shards, $folder; $start, $end: of the day that the file is
--          for, or null
-- Privacy  SENSITIVE
copy (
    select
        $file_id::integer as file_id,
        row_number,
        local_date,
        user_id,
        observed_at,
        place_cell,
        latitude,
        longitude,
        value,
        clock_shift,
        coalesce(md5_number_lower(user_id) % $n_shards::ubigint, 0) as shard,
        coalesce(local_date::varchar, 'undated') as day,
        coalesce(observed_at < $start::timestamptz or observed_at >= $end::timestamptz, false) as stray
    from raw_record
) to $folder (format parquet, compression zstd, partition_by (shard, day, stray))
