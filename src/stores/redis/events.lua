-- A page of candidate events. Returns the position up to which everything was searched and whether that is the end,
-- then positions and texts in turn. Positions come from the index of the most selective filter; ranges of the log whose
-- times are all outside the query are skipped.
--
-- KEYS  project
-- ARGV  after, until_position, limit, since_ms, until_ms, the filters: a list of lists of index values; one match per
--       list suffices
local project = KEYS[1]
local after, last, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local since_ms, until_ms = tonumber(ARGV[4]), tonumber(ARGV[5])
local filters = cjson.decode(ARGV[6])
-- Position ranges that one call searches by time, at most, so that other clients get their turn.
local STRETCHES_MAX = 200

last = math.min(last, tonumber(redis.call('HGET', project, 'position') or 0))

---------------------------------------------------------------- where positions come from

local function fewest(filters)
  local best, least = nil, math.huge
  for _, lists in ipairs(filters) do
    local count = 0
    for _, list in ipairs(lists) do count = count + redis.call('LLEN', project .. ':by:' .. list) end
    if count < least then best, least = lists, count end
  end
  return best
end

-- Where in the list the first greater position is: lists of small numbers are compact, and quick to look into.
local function first_after(list, position)
  local low, high = 0, redis.call('LLEN', list)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if tonumber(redis.call('LINDEX', list, middle)) <= position then low = middle + 1 else high = middle end
  end
  return low
end

local function indexed_after(lists, position, count)
  local found = {}
  for _, value in ipairs(lists) do
    local list = project .. ':by:' .. value
    local from = first_after(list, position)
    for _, at in ipairs(redis.call('LRANGE', list, from, from + count - 1)) do found[#found + 1] = tonumber(at) end
  end
  if #lists > 1 then table.sort(found) end
  return found
end

local function every_after(position, count)
  local found = {}
  for at = position + 1, math.min(position + count, last) do found[#found + 1] = at end
  return found
end

---------------------------------------------------------------- which of them may be in time

local zones = { {}, {} }
local function in_time(level, block)
  local known = zones[level][block]
  if known ~= nil then return known end
  local kept = redis.call('HGET', project .. ':times', level .. ':' .. block)
  local from, to = string.match(kept or '', '^(%S+) (%S+)$')
  local touches = from ~= nil and tonumber(to) >= since_ms and tonumber(from) < until_ms
  zones[level][block] = touches
  return touches
end

local timed = since_ms > -FOREVER_MS or until_ms < FOREVER_MS
-- The last position of the stretch around this one that is out of time; nil when it may be in time.
local function out_of_time_until(position)
  if not timed then return nil end
  for level, size in ipairs(ZONE_SIZES) do
    local block = math.floor(position / size)
    if not in_time(level, block) then return (block + 1) * size - 1 end
  end
end

----------------------------------------------------------------

local lists = fewest(filters)
local found, stretches = {}, 0
while #found < limit and after < last and stretches < STRETCHES_MAX do
  stretches = stretches + 1
  local wanted = limit - #found
  local page = lists and indexed_after(lists, after, wanted) or every_after(after, wanted)
  if #page == 0 then after = last end
  for i = 1, math.min(#page, wanted) do
    if page[i] > last then
      after = last
      break
    end
    local beyond = out_of_time_until(page[i])
    after = beyond or page[i]
    if beyond then break end
    found[#found + 1] = page[i]
  end
end

local reply = { math.min(after, last), after >= last and 1 or 0 }
for i, text in ipairs(fetch('HMGET', project .. ':events', found, 0, #found)) do
  reply[#reply + 1] = found[i]
  reply[#reply + 1] = text
end
return reply
