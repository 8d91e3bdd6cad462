-- A page of candidate events. Returns the position up to which everything was searched and whether that is the end,
-- then positions and texts in turn: a text has the lines of the events from that position on. Positions come from the
-- index of one filter; ranges of the log whose times are all outside the query are skipped.
--
-- KEYS  project
-- ARGV  after, until_position, limit, since_ms, until_ms, the names of the index whose events to return; none: all
local project = KEYS[1]
local after, last, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local since_ms, until_ms = tonumber(ARGV[4]), tonumber(ARGV[5])
local is_indexed = #ARGV > 5
-- Maximum number of position ranges that one call searches by time, so that other clients get their turn.
local STRETCHES_MAX = 200
-- Number of elements of a list that are read at once.
local LIST_PAGE = 16

last = math.min(last, tonumber(redis.call('HGET', project, 'position') or 0))

---------------------------------------------------------------- what the index has

-- Adds the positions in these postings that are greater than `position`, until there are `count`.
local function add_positions(found, postings, position, count)
  for base, numbers in string.gmatch(postings, '(%d+):(%S*)') do
    base = tonumber(base)
    for first, dash, to in string.gmatch(numbers, '(%d+)(%-?)(%d*)') do
      first = base + first
      for at = math.max(first, position + 1), dash == '' and first or base + to do
        if #found >= count then return end
        found[#found + 1] = at
      end
    end
  end
end

-- The postings of a name that are not in its list: a head's recent postings are stored with the head.
local function recent_postings(name)
  local subject = string.match(name, '^head:(.*)$')
  if not subject then return redis.call('HGET', project .. ':index', name) or '' end
  return string.match(redis.call('HGET', project .. ':marks', subject) or '', '^%d+ %S+ (.*)$') or ''
end

local function positions_of(name, position, count)
  local list, found = project .. ':by:' .. name, {}
  local from = math.max(first_not_below(list, position) - 1, 0)
  while #found < count do
    local page = redis.call('LRANGE', list, from, from + LIST_PAGE - 1)
    for _, postings in ipairs(page) do add_positions(found, postings, position, count) end
    if #page < LIST_PAGE then break end
    from = from + LIST_PAGE
  end
  add_positions(found, recent_postings(name), position, count)
  return found
end

-- The next positions in the index, at most `count`. Those of several names are sorted together.
local function indexed_after(position, count)
  local found = {}
  for i = 6, #ARGV do
    for _, at in ipairs(positions_of(ARGV[i], position, count)) do found[#found + 1] = at end
  end
  table.sort(found)
  for i = #found, count + 1, -1 do found[i] = nil end
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
  local range = redis.call('HGET', project .. ':times', level .. ':' .. block)
  local from, to = string.match(range or '', '^(%S+) (%S+)$')
  local touches = from ~= nil and tonumber(to) >= since_ms and tonumber(from) < until_ms
  zones[level][block] = touches
  return touches
end

local is_timed = since_ms > -FOREVER_MS or until_ms < FOREVER_MS
-- The last position of the zone around this one if all its times are outside the query; nil if some may be inside.
local function out_of_time_until(position)
  if not is_timed then return nil end
  for level, size in ipairs(ZONE_SIZES) do
    local block = math.floor(position / size)
    if not in_time(level, block) then return (block + 1) * size - 1 end
  end
end

---------------------------------------------------------------- the texts

local reply = { 0, 0 }
local chunk, chunk_first, chunk_last, commit, commit_end = nil, 0, -1, 0, -1

local function open_chunk(position)
  if position > commit_end then commit, commit_end = commit_of(project, position) end
  chunk_first = position - (position - commit - 1) % CHUNK_EVENTS
  chunk_last = math.min(chunk_first + CHUNK_EVENTS - 1, commit_end or math.huge)
  commit_end = commit_end or math.huge
  chunk = redis.call('HGET', project .. ':events', decimal_text(chunk_first))
end

local function line_of(number)
  local from = 1
  for _ = 2, number do from = string.find(chunk, '\n', from, true) + 1 end
  return string.sub(chunk, from, (string.find(chunk, '\n', from, true) or 0) - 1)
end

-- Adds the line of an event; for a query without an index the whole chunk, whose other events are candidates too.
local function add_text(position)
  local was_open = position <= chunk_last
  if not was_open then open_chunk(position) end
  if is_indexed then
    reply[#reply + 1] = position
    reply[#reply + 1] = line_of(position - chunk_first + 1)
  elseif not was_open then
    reply[#reply + 1] = chunk_first
    reply[#reply + 1] = chunk
  end
end

local found, stretches = 0, 0
while found < limit and after < last and stretches < STRETCHES_MAX do
  stretches = stretches + 1
  local wanted = limit - found
  local page = is_indexed and indexed_after(after, wanted) or every_after(after, wanted)
  if #page == 0 then after = last end
  for i = 1, #page do
    if page[i] > last then
      after = last
      break
    end
    local beyond = out_of_time_until(page[i])
    after = beyond or page[i]
    if beyond then break end
    found = found + 1
    add_text(page[i])
  end
end

reply[1], reply[2] = math.min(after, last), after >= last and 1 or 0
return reply
