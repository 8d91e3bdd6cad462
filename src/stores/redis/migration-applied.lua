-- Records a step if it is the next one. Of several concurrent runs, one returns 1.
--
-- KEYS  meta
-- ARGV  version
if tonumber(redis.call('HGET', KEYS[1], 'version')) ~= ARGV[1] - 1 then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1])
return 1
