-- refused_report: the rows of a round, before they are written anew.
-- Grain    one row per unused line
-- Params   $period, $round
-- Privacy  points at lines that devices sent
delete from refused_report
where period = $period and round = $round
