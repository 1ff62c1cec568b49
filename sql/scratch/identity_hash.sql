-- identity_hash(): a number that equal records share, and that different records seldom share.
-- Grain    a function of all columns of a raw record except its value
-- Privacy  SENSITIVE: the numbers identify records
create or replace temp macro identity_hash(user_id, observed_at, latitude, longitude) as
hash(user_id, observed_at, latitude, longitude)
