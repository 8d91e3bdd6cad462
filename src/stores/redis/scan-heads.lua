-- A page of heads ordered by subject.
--
-- KEYS  project
-- ARGV  the exclusive lower bound, limit
local subjects = redis.call('ZRANGE', KEYS[1] .. ':subjects', ARGV[1], '+', 'BYLEX', 'LIMIT', 0, ARGV[2])
return fetch('HMGET', KEYS[1] .. ':heads', subjects, 0, #subjects)
