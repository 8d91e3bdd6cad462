-- Applies the step if it is the next one. Of several concurrent runs, one applies it and returns 1.
--
-- KEYS  meta
-- ARGV  a new secret
if tonumber(redis.call('HGET', KEYS[1], 'version') or 0) ~= 0 then return 0 end
redis.call('HSET', KEYS[1], 'secret', ARGV[1], 'incarnation', 1)
redis.call('HSET', KEYS[1], 'version', 1)
return 1
