-- written_id(): the user id of a file that holds one user's rows: its name up to the first dot.
-- Grain    a function of the file's path
-- Privacy  SENSITIVE: an id
create or replace temp macro written_id(written) as
split_part(parse_filename(written), '.', 1)
