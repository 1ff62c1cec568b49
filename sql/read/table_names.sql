-- The names of the database's tables.
-- Grain    one row per table
-- Reads    the engine's catalogue
-- Privacy  public
select table_name
from duckdb_tables()
order by table_name
