-- file_of_row: of which file each row is that is read next, if several files are read as one; else it is empty.
-- Grain    one row per number of a row in what is read
-- Reads    file_part: the files, with the number of rows before each
-- Units    row_number counts within the file
-- Privacy  SENSITIVE: user_id is the user that a file is named after
create or replace temp table file_of_row as
select
    file_id,
    which,
    user_id,
    number + offset_in_file as number,
    n_before + offset_in_file as row_number,
    offset_in_file <= 1000 as is_first
from (
    select *, unnest(range(1, n_numbers + 1)) as offset_in_file
    from file_part
)
