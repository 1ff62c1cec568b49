-- Whether the mirror holds rows of a release that are not in its released file.
-- Grain    one row if so
-- Reads    statistic, the file $path
-- Params   $release_id, $path: of the released table; $columns: those of statistic. Others are in the files alone
-- Privacy  public
select 1
from (
    select * from statistic where release_id = $release_id
    except all
    from (
        select * from statistic where false
        union all by name
        select columns(lambda c: list_contains($columns, c))
        from read_parquet($path, hive_partitioning = false)
    )
)
limit 1
