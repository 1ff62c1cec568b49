-- statistic: the published rows of one release.
-- Grain    one row per (slot_start, h3_cell)
-- Reads    the file $path
-- Params   $path: of the released table; $columns: those of statistic. Others, as percentiles, are in the files alone
-- Privacy  public
insert into statistic by name
select columns(lambda c: list_contains($columns, c))
from read_parquet($path, hive_partitioning = false)
