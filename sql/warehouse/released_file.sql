-- released_file: notes the files that a day is about to be released from.
-- Grain    one row per file
-- Params   $date, $file_ids
-- Privacy  public
insert into released_file by name
select $date::date as local_date, unnest($file_ids)::integer as file_id
