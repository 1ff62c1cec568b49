-- Whether raw records were read by the other engine: into the warehouse, or into parts of the shards' storage.
-- Grain    one row if so
-- Reads    raw_record, raw_part
-- Params   $sharded: whether they should be in parts
select 1 as otherwise
where case
    when $sharded then exists (select 1 from raw_record)
    else exists (select 1 from raw_part)
end
