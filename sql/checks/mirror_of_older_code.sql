-- Whether the mirror's table of rows was made by older code, which knew fewer columns.
-- Grain    one row if so
-- Reads    the catalogue of the database
-- Privacy  public
select 1
where not exists (
    select 1
    from duckdb_columns()
    where table_name = 'statistic' and column_name = 'typical_mean'
)
