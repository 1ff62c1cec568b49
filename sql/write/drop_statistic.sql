-- statistic: is dropped if older code made it with fewer columns; its rows are copied again from the released files.
-- Grain    none, the table is dropped
-- Privacy  public
drop table statistic
