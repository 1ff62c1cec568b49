-- charge: writes the cost of one release.
-- Grain    one row
-- Params   $number, $release_id, $date, $revision, $epsilon, $epsilon_total_after, $committed_at, $hash: of the entry
-- Privacy  public
insert into charge by name
select
    $number::bigint as number,
    $release_id as release_id,
    $date::date as local_date,
    $revision::varchar as revision,
    $epsilon::double as epsilon,
    $epsilon_total_after::double as epsilon_total_after,
    $committed_at::timestamptz as committed_at,
    $hash as entry_hash
