-- Commits a batch of one tenant. The script first fetches everything the transactions read, each key in one call; then
-- decides them in order, each on the state left by those before it; then writes all effects, again each key in one
-- call. Nothing is written before everything is decided, and Redis lets a script that has written finish: so a batch
-- happens completely or not at all, even when memory or disk run out.
--
-- Lua's JSON library does not round-trip values, and tables are slow. So the transactions come as a tape: a flat list
-- of numbers below 2^53, which refer to strings by their index among the arguments. batch.ts writes it.
--
-- KEYS  tenant, batch
-- ARGV  the tape, the served lineage ('': any), then strings. The script never parses heads, events or requests.

local tenant, batch = KEYS[1], KEYS[2]
local tape, lineage = cmsgpack.unpack(ARGV[1]), ARGV[2]

if lineage ~= '' and not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. lineage, 1, true) then
  return redis.error_reply('LINEAGE another server, or the same after a restart')
end
local known = redis.call('GET', batch)
if known then return cmsgpack.unpack(known) end

local now = clock_of(tenant)
-- Each number is converted to text once, here. Redis and Lua would convert it at every use, through floating point.
local function decimal_text(number) return string.format('%d', number) end
local now_text = decimal_text(now)

---------------------------------------------------------------- what the units look at

local function load_project(at)
  local key, name, index_keys, subjects, subject_count, requests, request_count, notes, note_count =
    unpack(tape, at, at + 8)
  local project = { key = ARGV[key], name = ARGV[name], index_keys = index_keys }
  project.subjects, project.requests, project.notes = subjects, requests, notes
  local row = redis.call('HMGET', project.key, 'position', 'rules_seq')
  project.exists = row[1] ~= false
  project.position, project.rules_seq = tonumber(row[1] or 0), tonumber(row[2] or 0)
  project.head = fetch('HMGET', project.key .. ':heads', ARGV, subjects, subject_count)
  project.seq = {}
  for i, head in ipairs(project.head) do project.seq[i] = head and tonumber(string.match(head, '^%d+')) or 0 end
  project.request = fetch('HMGET', project.key .. ':requests', ARGV, requests, request_count)
  project.noted = fetch('SMISMEMBER', project.key .. ':notes', ARGV, notes, note_count)
  project.moved, project.new_subjects, project.new_events, project.new_notes = {}, {}, {}, {}
  project.new_requests, project.request_order = {}, {}
  project.positions_by, project.zones = {}, { {}, {} }
  return project
end

local function load_scope(at)
  local key, name, members, member_count = unpack(tape, at, at + 3)
  local scope = { key = ARGV[key], name = ARGV[name], members = members, until_ms = {}, moved = {} }
  scope.live = redis.call('ZCOUNT', scope.key, '(' .. now_text, '+inf')
  for i, score in ipairs(fetch('ZMSCORE', scope.key, ARGV, members, member_count)) do
    scope.until_ms[i] = tonumber(score or 0)
  end
  return scope
end

local project_count, scope_count, unit_count, texts = unpack(tape, 1, 4)
local projects, scopes, at = {}, {}, 5
for i = 1, project_count do
  projects[i] = load_project(at)
  at = at + 9
end
for i = 1, scope_count do
  scopes[i] = load_scope(at)
  at = at + 4
end

---------------------------------------------------------------- the unit that is looked at

local project, rules_seq, changes_rules, not_before_ms, not_after_ms, note_count
local taken -- its positions, once it has some: 7,8,9
local requests_at, swaps_at, checks_at, slots_at, rooms_at, events_at, unit_ends

local function open_unit(from)
  local number, requests, swaps, checks, slots, rooms, length
  number, rules_seq, changes_rules, not_before_ms, not_after_ms, requests, swaps, checks, slots, rooms, note_count, length =
    unpack(tape, from, from + 11)
  project = projects[number]
  requests_at = from + 12
  swaps_at = requests_at + 2 * requests
  checks_at = swaps_at + 4 * swaps
  slots_at = checks_at + 2 * checks
  rooms_at = slots_at + 3 * slots
  events_at = rooms_at + 2 * rooms
  unit_ends = from + length
end

---------------------------------------------------------------- whether it is refused

local function has_moved()
  if rules_seq >= 0 and rules_seq ~= project.rules_seq then return true end
  for swap = swaps_at, checks_at - 1, 4 do
    if project.seq[tape[swap]] ~= tape[swap + 1] then return true end
  end
  for check = checks_at, slots_at - 1, 2 do
    if project.seq[tape[check]] ~= tape[check + 1] then return true end
  end
  return false
end

local function conflict()
  local outcome = { CONFLICT, project.rules_seq }
  for swap = swaps_at, checks_at - 1, 4 do outcome[#outcome + 1] = project.head[tape[swap]] or '' end
  for check = checks_at, slots_at - 1, 2 do outcome[#outcome + 1] = project.head[tape[check]] or '' end
  return outcome
end

-- How many more would be live in a scope, and whether anybody would come in. The last word on a member stands.
local function change(number)
  local scope, said = scopes[number], {}
  for slot = slots_at, rooms_at - 1, 3 do
    if tape[slot] == number then said[tape[slot + 1]] = tape[slot + 2] end
  end
  local more, comes_in = 0, false
  for member, until_ms in pairs(said) do
    local was, is = scope.until_ms[member] > now, until_ms > now
    if is and not was then more, comes_in = more + 1, true end
    if was and not is then more = more - 1 end
  end
  return more, comes_in
end

local function full_scope()
  local slot_count = (rooms_at - slots_at) / 3
  for room = rooms_at, events_at - 1, 2 do
    local scope, max = scopes[tape[room]], tape[room + 1]
    if scope.live + slot_count > max then
      local more, comes_in = change(tape[room])
      if comes_in and scope.live + more > max then return scope.name end
    end
  end
end

local function refusal()
  for request = requests_at, swaps_at - 1, 2 do
    local remembered = project.request[tape[request]]
    if remembered then return { REPLAY, remembered } end
  end
  if has_moved() then return conflict() end
  if now < not_before_ms then return { EARLY } end
  if now >= not_after_ms then return { LATE } end
  local scope = full_scope()
  return scope and { FULL, scope }
end

---------------------------------------------------------------- what it does

local function zone_at(level, block)
  local zone = project.zones[level][block]
  if zone then return zone end
  local kept = redis.call('HGET', project.key .. ':times', level .. ':' .. block)
  local from, to = string.match(kept or '', '^(%S+) (%S+)$')
  zone = { tonumber(from) or math.huge, tonumber(to) or -math.huge }
  project.zones[level][block] = zone
  return zone
end

-- A time that could not be read is no number, and compares as neither less nor greater.
local function widen_zones(position, at_ms)
  for level = 1, #ZONE_SIZES do
    local zone = zone_at(level, math.floor(position / ZONE_SIZES[level]))
    if at_ms < zone[1] then zone[1] = at_ms end
    if at_ms > zone[2] then zone[2] = at_ms end
  end
end

-- Gives the event its position, and says where in the tape the next one is.
local function place(event, outcome)
  local position = project.position + 1
  local text, events, positions_by = decimal_text(position), project.new_events, project.positions_by
  project.position = position
  events[#events + 1] = text
  events[#events + 1] = ARGV[texts + tape[event]]
  widen_zones(position, tape[event + 1])
  local ends = event + 3 + tape[event + 2]
  for at = event + 3, ends - 1 do
    local positions = positions_by[tape[at]]
    if positions then positions[#positions + 1] = text else positions_by[tape[at]] = { text } end
  end
  outcome[#outcome + 1] = position
  taken = taken and taken .. ',' .. text or text
  return ends
end

local function swap_head(swap, event, outcome)
  local subject, expected_seq, head, event_count = unpack(tape, swap, swap + 3)
  if expected_seq == 0 then
    local new = project.new_subjects
    new[#new + 1] = '0'
    new[#new + 1] = ARGV[project.subjects + subject]
  end
  project.head[subject], project.moved[subject] = ARGV[texts + head], true
  project.seq[subject] = expected_seq + event_count
  for _ = 1, event_count do event = place(event, outcome) end
  return event
end

local function put_note(note, outcome)
  local number = tape[note]
  if project.noted[number] == 1 then
    outcome[#outcome + 1] = 0
    return note + 4 + tape[note + 3]
  end
  project.noted[number] = 1
  project.new_notes[#project.new_notes + 1] = ARGV[project.notes + number]
  return place(note + 1, outcome)
end

local function take_slots()
  for slot = slots_at, rooms_at - 1, 3 do
    local scope, member, until_ms = scopes[tape[slot]], tape[slot + 1], tape[slot + 2]
    local was, is = scope.until_ms[member] > now, until_ms > now
    if is and not was then scope.live = scope.live + 1 end
    if was and not is then scope.live = scope.live - 1 end
    scope.until_ms[member], scope.moved[member] = until_ms, true
  end
end

local function remember(request)
  local number, text = tape[request], tape[request + 1]
  if text == 0 then return end
  local key, kept = ARGV[project.requests + number], (taken or '') .. '\n' .. ARGV[texts + text]
  local new, order = project.new_requests, project.request_order
  project.request[number], project.written = kept, true
  new[#new + 1] = key
  new[#new + 1] = kept
  order[#order + 1] = now_text .. ' ' .. key
end

local function take()
  project.rules_seq, taken = project.rules_seq + changes_rules, nil
  local outcome, event = { COMMITTED, project.rules_seq }, events_at
  for swap = swaps_at, checks_at - 1, 4 do event = swap_head(swap, event, outcome) end
  for _ = 1, note_count do event = put_note(event, outcome) end
  take_slots()
  for request = requests_at, swaps_at - 1, 2 do remember(request) end
  if taken or rooms_at > slots_at or changes_rules > 0 then project.written = true end
  return outcome
end

local outcomes = { now }
for i = 1, unit_count do
  open_unit(at)
  outcomes[i + 1] = refusal() or take()
  at = unit_ends
end

---------------------------------------------------------------- what is written

local function write(command, key, values)
  for from = 1, #values, UNPACKED_MAX do
    redis.call(command, key, unpack(values, from, math.min(from + UNPACKED_MAX - 1, #values)))
  end
end

-- The oldest requests go: those past the window, and those that are too many. A few more than came, so none pile up.
local function forget_requests(project)
  local order = project.key .. ':request_order'
  local too_many = redis.call('LLEN', order) - REQUESTS_MAX
  local forgotten = {}
  for _, entry in ipairs(redis.call('LRANGE', order, 0, #project.request_order * 2)) do
    local at_ms, key = string.match(entry, '^(%d+) (.*)$')
    if #forgotten >= too_many and tonumber(at_ms) >= now - REQUEST_WINDOW_MS then break end
    forgotten[#forgotten + 1] = key
  end
  if #forgotten == 0 then return end
  redis.call('LPOP', order, #forgotten)
  write('HDEL', project.key .. ':requests', forgotten)
end

local function write_project(project)
  local key = project.key
  if not project.exists then redis.call('SADD', tenant .. ':projects', project.name) end
  redis.call('HSET', key, 'position', decimal_text(project.position), 'rules_seq', decimal_text(project.rules_seq))
  local heads, zones = {}, {}
  for subject in pairs(project.moved) do
    heads[#heads + 1] = ARGV[project.subjects + subject]
    heads[#heads + 1] = project.head[subject]
  end
  for level, blocks in ipairs(project.zones) do
    for block, zone in pairs(blocks) do
      if zone[1] <= zone[2] then
        zones[#zones + 1] = level .. ':' .. block
        zones[#zones + 1] = decimal_text(zone[1]) .. ' ' .. decimal_text(zone[2])
      end
    end
  end
  write('HSET', key .. ':heads', heads)
  write('ZADD', key .. ':subjects', project.new_subjects)
  write('HSET', key .. ':events', project.new_events)
  write('HSET', key .. ':times', zones)
  write('SADD', key .. ':notes', project.new_notes)
  write('HSET', key .. ':requests', project.new_requests)
  write('RPUSH', key .. ':request_order', project.request_order)
  if #project.request_order > 0 then forget_requests(project) end
  for number, positions in pairs(project.positions_by) do
    write('RPUSH', ARGV[project.index_keys + number], positions)
  end
end

local function write_scope(scope)
  local live, gone, until_texts = {}, {}, {}
  for member in pairs(scope.moved) do
    local until_ms, name = scope.until_ms[member], ARGV[scope.members + member]
    if until_ms > now then
      until_texts[until_ms] = until_texts[until_ms] or string.format('%.17g', until_ms)
      live[#live + 1] = until_texts[until_ms]
      live[#live + 1] = name
    else
      gone[#gone + 1] = name
    end
  end
  redis.call('ZREMRANGEBYSCORE', scope.key, '-inf', now_text)
  write('ZADD', scope.key, live)
  write('ZREM', scope.key, gone)
end

redis.call('HSET', tenant, 'now_ms', now_text)
for _, project in ipairs(projects) do
  if project.written then write_project(project) end
end
for _, scope in ipairs(scopes) do
  if next(scope.moved) then write_scope(scope) end
end
redis.call('SET', batch, cmsgpack.pack(outcomes), 'PX', BATCH_KEPT_MS)
return outcomes
