-- The number of live members of a scope.
--
-- KEYS  tenant, the scope's permits
return redis.call('ZCOUNT', KEYS[2], '(' .. string.format('%.0f', clock_of(KEYS[1])), '+inf')
