-- Whether raw records were read by the other engine, into the warehouse or into shards.
-- Grain    one row if so
-- Reads    raw_record, raw_part
-- Params   $sharded: whether they should be in shards
select 1 as otherwise
where case
    when $sharded then exists (select 1 from raw_record)
    else exists (select 1 from raw_part)
end
