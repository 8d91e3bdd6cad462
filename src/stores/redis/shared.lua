-- This file is prepended to every script.

-- The range of event times is kept for each zone of this many positions, in two sizes. The large zones let a search skip
-- much of the log at once.
local ZONE_SIZES = { 65536, 256 }

-- The events of a commit are kept in chunks of this many, one per line. The commit's last chunk may have fewer.
local CHUNK_EVENTS = 32

-- The database's clock in whole milliseconds, never behind the time of an earlier commit of this tenant.
local function clock_of(tenant)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  return math.max(now, tonumber(redis.call('HGET', tenant, 'now_ms') or 0))
end

-- Maximum number of values in one call: Lua's stack holds them safely. It is even, because some values come in pairs.
local UNPACKED_MAX = 4000

-- What a command returns for `count` of the names, starting one after the base.
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

-- Lua and Redis would write a large number as 1e+15.
local function decimal_text(number) return string.format('%d', number) end

-- The times at which permits on heads have ended, and how many permits are still live.
local function load_ends(tenant, scope, now)
  local ended = redis.call('ZRANGE', tenant .. ':ends:' .. scope, '-inf', decimal_text(now), 'BYSCORE')
  local live = tonumber(redis.call('HGET', tenant .. ':live:' .. scope, 'total') or 0)
  for _, count in ipairs(fetch('HMGET', tenant .. ':live:' .. scope, ended, 0, #ended)) do live = live - count end
  return ended, live
end

-- The index of the first element at or above a position, in an ascending list of positions or postings.
local function first_not_below(list, position)
  local low, high = 0, redis.call('LLEN', list)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local first = tonumber(string.match(redis.call('LINDEX', list, middle), '^%d+'))
    if first < position then low = middle + 1 else high = middle end
  end
  return low
end

-- The position after which the commit of an event began, and the position of the commit's last event; nil if no other
-- commit followed.
local function commit_of(project, position)
  local index = first_not_below(project .. ':commits', position)
  return tonumber(redis.call('LINDEX', project .. ':commits', index - 1)),
    tonumber(redis.call('LINDEX', project .. ':commits', index) or nil)
end
