-- identity_hash(): a number that equal records share, and that two others seldom share.
-- Grain    a function of all of a raw record but its value
-- Privacy  SENSITIVE: its numbers are those of records
create or replace temp macro identity_hash(user_id, observed_at, latitude, longitude) as
hash(user_id, observed_at, latitude, longitude)
