-- Raises the incarnation of the store; a lower number changes nothing. Returns the incarnation.
--
-- KEYS  meta
-- ARGV  the incarnation
local incarnation = math.max(tonumber(redis.call('HGET', KEYS[1], 'incarnation')), tonumber(ARGV[1]))
redis.call('HSET', KEYS[1], 'incarnation', string.format('%.0f', incarnation))
return incarnation
