-- quarantine: deletes the rows that the rules of one local day put there; rows from reading the files stay.
-- Grain    none, rows are deleted
-- Params   $date
-- Privacy  SENSITIVE: deletes private rows
delete from quarantine
where local_date = $date and row_number is not null
