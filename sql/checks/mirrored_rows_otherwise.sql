-- Rows that the mirror holds of a release and that are not in its released file.
-- Grain    one row if there are any
-- Reads    statistic, the released Parquet file
-- Params   $release_id, $path
-- Privacy  public
select 1
from (
    select * from statistic where release_id = $release_id
    except all
    from (select * from statistic where false union all by name from read_parquet($path, hive_partitioning = false))
)
limit 1
