-- This file is prepended to the scripts that write events.
--
-- What a script must know of a head is in a mark beside it, `seq end postings`: Redis hashes every byte that a script
-- reads, so scripts read heads only to report a conflict. The end is when the head's permit ends; 0: it has none. Postings
-- are positions of events: `base:3,5-7` are the third and the fifth to seventh event of the commit that began after
-- position `base`; several are separated by spaces. Old postings move to a list, so that what is rewritten stays small.

local POSTINGS_BYTES = 96

-- Calls a command with the values, or with `count` of them, starting one after the base.
local function write(command, key, values, base, count)
  base, count = base or 0, count or #values
  for from = 1, count, UNPACKED_MAX do
    redis.call(command, key, unpack(values, base + from, base + math.min(from + UNPACKED_MAX - 1, count)))
  end
end

-- Adds to the postings of a name; returns those that are not in its list.
local function add_postings(project, name, postings, more)
  if postings and postings ~= '' then more = postings .. ' ' .. more end
  if #more <= POSTINGS_BYTES then return more end
  redis.call('RPUSH', project .. ':by:' .. name, more)
  return ''
end

-- Indexes events by their values. Both lists begin one after their base.
local function write_index(project, base, names, names_base, numbers, numbers_base, count)
  local known = fetch('HMGET', project .. ':index', names, names_base, count)
  local index = {}
  for i = 1, count do
    local name = names[names_base + i]
    index[2 * i - 1] = name
    index[2 * i] = add_postings(project, name, known[i], base .. ':' .. numbers[numbers_base + i])
  end
  write('HSET', project .. ':index', index)
end

-- Widens the range of the zones of these positions.
local function widen_zones(zones, project, from, to, min_ms, max_ms)
  for level, size in ipairs(ZONE_SIZES) do
    for block = math.floor(from / size), math.floor(to / size) do
      local name = level .. ':' .. block
      local zone = zones[name]
      if not zone then
        local known = redis.call('HGET', project .. ':times', name)
        local least, most = string.match(known or '', '^(%S+) (%S+)$')
        zone = { tonumber(least) or math.huge, tonumber(most) or -math.huge }
        zones[name] = zone
      end
      zone[1], zone[2] = math.min(zone[1], min_ms), math.max(zone[2], max_ms)
    end
  end
end

-- Writes the chunks of a commit. `times` has the earliest and the latest time of each. For a chunk without a readable
-- time, the first of them is greater than the second.
local function write_chunks(project, base, event_count, chunks, chunks_base, times, times_base)
  local events, zones = {}, {}
  for i = 1, math.ceil(event_count / CHUNK_EVENTS) do
    local first, last = base + (i - 1) * CHUNK_EVENTS + 1, base + math.min(i * CHUNK_EVENTS, event_count)
    events[2 * i - 1], events[2 * i] = decimal_text(first), chunks[chunks_base + i]
    local min_ms, max_ms = times[times_base + 2 * i - 1], times[times_base + 2 * i]
    if min_ms <= max_ms then widen_zones(zones, project, first, last, min_ms, max_ms) end
  end
  local ranges = {}
  for name, zone in pairs(zones) do
    ranges[#ranges + 1] = name
    ranges[#ranges + 1] = decimal_text(zone[1]) .. ' ' .. decimal_text(zone[2])
  end
  redis.call('RPUSH', project .. ':commits', decimal_text(base))
  write('HSET', project .. ':events', events)
  write('HSET', project .. ':times', ranges)
end

local end_texts = {}
local function end_text(end_ms)
  local text = end_texts[end_ms]
  if not text then
    text = string.format('%.17g', end_ms)
    end_texts[end_ms] = text
  end
  return text
end

-- The end of a permit as the mark of its head has it; '0' without a permit. A plus means that the permit is counted as
-- held by the project until it is released. Older versions did not count, and wrote no plus.
local function held_text(end_ms, now) return end_ms > now and '+' .. end_text(end_ms) or '0' end

-- By how much the number of held permits changes when the mark of a head does.
local function held_change(from_text, to_text)
  local function held(text) return string.sub(text, 1, 1) == '+' and 1 or 0 end
  return held(to_text) - held(from_text)
end

-- Changes the number of permits on heads that a project of the tenant holds, ended or not.
local function write_held(tenant, project_name, change)
  if change == 0 then return end
  local held = tonumber(redis.call('ZADD', tenant .. ':held', 'INCR', decimal_text(change), project_name))
  if held <= 0 then redis.call('ZREM', tenant .. ':held', project_name) end
end

-- Writes how many permits on heads a scope has, by the time of their end. `ended` and `live` are from load_ends.
local function write_ends(tenant, scope, now, ended, live, changes)
  local counts_key, ends_key = tenant .. ':live:' .. scope, tenant .. ':ends:' .. scope
  if #ended > 0 then
    redis.call('ZREMRANGEBYSCORE', ends_key, '-inf', decimal_text(now))
    write('HDEL', counts_key, ended)
  end
  local ends = {}
  for text, change in pairs(changes) do
    if change ~= 0 then ends[#ends + 1] = text end
  end
  local counts, added, gone = {}, {}, {}
  for i, count in ipairs(fetch('HMGET', counts_key, ends, 0, #ends)) do
    local text = ends[i]
    local new = (tonumber(count) or 0) + changes[text]
    live = live + changes[text]
    if new == 0 then
      gone[#gone + 1] = text
    else
      counts[#counts + 1] = text
      counts[#counts + 1] = decimal_text(new)
      if not count then
        added[#added + 1] = text
        added[#added + 1] = text
      end
    end
  end
  counts[#counts + 1] = 'total'
  counts[#counts + 1] = decimal_text(live)
  write('HSET', counts_key, counts)
  write('ZADD', ends_key, added)
  write('HDEL', counts_key, gone)
  write('ZREM', ends_key, gone)
end

-- Records in `changes` that the end of a permit on a head has moved. Ends that have passed are not counted.
local function move_end(changes, now, from_ms, to_ms)
  if from_ms > now then
    local text = end_text(from_ms)
    changes[text] = (changes[text] or 0) - 1
  end
  if to_ms > now then
    local text = end_text(to_ms)
    changes[text] = (changes[text] or 0) + 1
  end
end

-- Deletes the oldest requests: those past the window, and surplus ones. Deletes more than were added, so that none
-- pile up.
local function forget_requests(project, now, count)
  local order, forgotten = project .. ':request_order', 0
  while forgotten <= 2 * count do
    local at_ms, keys = string.match(redis.call('LINDEX', order, 0) or '', '^(%d+) (.*)$')
    if not at_ms then return end
    local is_old = tonumber(at_ms) < now - REQUEST_WINDOW_MS
    if not is_old and redis.call('HLEN', project .. ':requests') <= REQUESTS_MAX then return end
    keys = cjson.decode(keys)
    redis.call('LPOP', order)
    write('HDEL', project .. ':requests', keys)
    forgotten = forgotten + #keys
  end
end

-- `keys` are the keys in `requests`, where each key is followed by its text.
local function write_requests(project, now, requests, keys)
  if #keys == 0 then return end
  write('HSET', project .. ':requests', requests)
  redis.call('RPUSH', project .. ':request_order', decimal_text(now) .. ' ' .. cjson.encode(keys))
  forget_requests(project, now, #keys)
end

local function assert_lineage(lineage)
  if lineage == '' or string.find(redis.call('INFO', 'replication'), 'master_replid:' .. lineage, 1, true) then return end
  return redis.error_reply('LINEAGE another server, or the same after a restart')
end
