-- identity_hash(): a number for what tells a duplicate. Equal records have equal numbers; two others seldom have.
-- Grain    a function of one raw record
-- Privacy  SENSITIVE: its numbers are those of records. The value is none of its arguments
create or replace temp macro identity_hash(user_id, observed_at, latitude, longitude) as
hash(user_id, observed_at, latitude, longitude)
