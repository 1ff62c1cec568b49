-- The votes of round 1 by area and bin, and the number of ballots.
-- Grain    one row per (area, bin), bins from 0
-- Reads    device_report
-- Params   $period, $n_bins
-- Privacy  sums of what devices randomised; public
select
    area,
    bin.number as bin,
    count(*) as n_ballots,
    count(*) filter (ballot[bin.number + 1] = '1') as n_votes
from device_report
cross join range($n_bins) as bin (number)
where period = $period and round = 1
group by area, bin.number
order by area, bin.number
