-- statistic: the published rows of one release.
-- Grain    one row per (slot_start, h3_cell)
-- Reads    the file $path
-- Params   $path: of the released table
-- Privacy  public
insert into statistic by name
select *
from read_parquet($path, hive_partitioning = false)
