-- written_id(): the user id that is written in a row.
-- Grain    a function of the user's column
-- Privacy  SENSITIVE: an id
create or replace temp macro written_id(written) as
written
