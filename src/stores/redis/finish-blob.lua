-- Gives a complete draft its name.
--
-- KEYS  draft, blob
redis.call('PERSIST', KEYS[1])
return redis.call('RENAME', KEYS[1], KEYS[2])
