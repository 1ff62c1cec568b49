-- quarantine: empties what the rules of one local day put there; what reading the files put there stays.
-- Params   $date
delete from quarantine
where local_date = $date and row_number is not null
