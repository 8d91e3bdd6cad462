-- Put before every script.

-- Event times are kept as the range per this many positions, in two sizes; the large zones skip much of the log at once.
local ZONE_SIZES = { 65536, 256 }

-- The engine's clock in whole milliseconds, never behind a time reported to this tenant before.
local function clock_of(tenant)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  return math.max(now, tonumber(redis.call('HGET', tenant, 'now_ms') or 0))
end

-- Values in one call: what Lua's stack holds, and even, for those that come in pairs.
local UNPACKED_MAX = 4000

-- What a command returns for `count` of the names, of which the first is one after the base.
local function fetch(command, key, names, base, count)
  local found = {}
  for from = 1, count, UNPACKED_MAX do
    local to = math.min(from + UNPACKED_MAX - 1, count)
    local values = redis.call(command, key, unpack(names, base + from, base + to))
    if count <= UNPACKED_MAX then return values end
    for i = 1, #values do found[from + i - 1] = values[i] end
  end
  return found
end
