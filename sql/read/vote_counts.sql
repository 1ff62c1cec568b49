-- The votes of round 1 by area and bin, and the number of ballots.
-- Grain    one row per (area, bin), bins from 0
-- Reads    device_report
-- Params   $period, $n_bins
-- Privacy  sums of what devices randomised; public
with same_ballot as (
    select area, ballot, count(*) as n_ballots
    from device_report
    where period = $period and round = 1
    group by area, ballot
)

select
    area,
    bin.number as bin,
    sum(n_ballots)::bigint as n_ballots,
    coalesce(sum(n_ballots) filter (ballot[bin.number + 1] = '1'), 0)::bigint as n_votes
from same_ballot
cross join range($n_bins) as bin (number)
group by area, bin.number
order by area, bin.number
