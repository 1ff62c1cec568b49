-- statistic: the published rows of one release.
-- Grain    one row per (slot_start, h3_cell)
-- Reads    the file $path
-- Params   $path: of the released table
-- Units    percentiles and shares are in the files alone: which there are, the configuration says
-- Privacy  public
insert into statistic by name
select columns(lambda c: not regexp_matches(c, '^(p[0-9]|share_above_|distribution_area)'))
from read_parquet($path, hive_partitioning = false)
