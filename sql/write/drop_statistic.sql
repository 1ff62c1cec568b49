-- The mirror's rows, which older code made with fewer columns: they are copied again from the released files.
-- Grain    none, the table is dropped
-- Privacy  public
drop table statistic
