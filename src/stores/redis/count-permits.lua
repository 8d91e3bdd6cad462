-- The number of live members of a scope, of which some may be on heads.
--
-- KEYS  tenant
-- ARGV  scope
local now = clock_of(KEYS[1])
local _, live = load_ends(KEYS[1], ARGV[1], now)
return live + redis.call('ZCOUNT', KEYS[1] .. ':permits:' .. ARGV[1], '(' .. decimal_text(now), '+inf')
