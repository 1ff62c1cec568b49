-- quarantine: deletes what the rules of one local day put there; what reading the files put there stays.
-- Grain    none, rows are deleted
-- Params   $date
-- Privacy  SENSITIVE: deletes private rows
delete from quarantine
where local_date = $date and row_number is not null
