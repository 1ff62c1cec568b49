-- The rows of a day's files that belong to no day: malformed ones, and those without a readable time.
-- Grain    one row per file that has some, the most first; a file for one day has none
-- Reads    raw_file, validated_file
-- Params   $date
-- Privacy  counts of rows, assumed public
select name, n_malformed, n_undated
from raw_file
where file_date is null and n_malformed + n_undated > 0
    and file_id in (select file_id from validated_file where local_date = $date)
order by n_malformed + n_undated desc, name
