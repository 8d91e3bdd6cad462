-- Commits a batch of one project whose transactions must be decided one by one. The script first fetches everything
-- the transactions read, each key in one call; then decides them in order, each on the state left by those before it;
-- then writes all effects, again each key in one call. Nothing is written before everything is decided, and Redis lets
-- a script that has written finish: so a batch happens completely or not at all, even when memory or disk run out.
--
-- Lua's JSON library does not round-trip values, and tables are slow. So the transactions come as a tape: a flat list
-- of numbers, in which an index stands for each string among the arguments. batch.ts writes it.
--
-- KEYS  tenant, project, batch
-- ARGV  the replication id that the server must have ('': any), the tape, the project's name, then strings. The script
--       never parses heads, events or requests.

local tenant, project, batch = KEYS[1], KEYS[2], KEYS[3]
local problem = assert_lineage(ARGV[1])
if problem then return problem end
local known = redis.call('GET', batch)
if known then return cmsgpack.unpack(known) end

local tape = cmsgpack.unpack(ARGV[2])
local now = clock_of(tenant)
local subject_count, request_count, loose_count, value_count, scope_count, transaction_count = unpack(tape, 1, 6)
-- Where each kind of string begins, less one.
local subjects = 3
local requests = subjects + subject_count
local loose_ids = requests + request_count
local values = loose_ids + loose_count
local texts = values + value_count

---------------------------------------------------------------- what the transactions read

local row = redis.call('HMGET', project, 'position', 'rules_seq')
local base, rules_seq = tonumber(row[1] or 0), tonumber(row[2] or 0)
local base_text = decimal_text(base)
local is_written = false

local seq_of, end_of, postings_of, end_kept_of = {}, {}, {}, {}
for i, mark in ipairs(fetch('HMGET', project .. ':marks', ARGV, subjects, subject_count)) do
  local seq, end_ms, postings = string.match(mark or '', '^(%d+) (%S+) (.*)$')
  seq_of[i], end_of[i], postings_of[i] = tonumber(seq or 0), tonumber(end_ms or 0), postings or ''
  end_kept_of[i] = end_ms or '0'
end
local new_head = {}
local had_end, moved, has_new_end, more_postings = {}, {}, {}, {}
for i = 1, subject_count do had_end[i] = end_of[i] end
local request_text = fetch('HMGET', project .. ':requests', ARGV, requests, request_count)
local is_known = fetch('SMISMEMBER', project .. ':loose', ARGV, loose_ids, loose_count)

-- A permit on a head has its end in `end_of`, and its member is the number of the subject.
local function load_scope(at, name)
  local is_on_heads, member_count = tape[at], tape[at + 1]
  local scope = { name = ARGV[name], members = name, member_count = member_count, moved = {} }
  if is_on_heads == 1 then
    scope.ends, scope.ended, scope.live = end_of, load_ends(tenant, scope.name, now)
    scope.live_before = scope.live
    return scope
  end
  scope.key, scope.ends = tenant .. ':permits:' .. scope.name, {}
  scope.live = redis.call('ZCOUNT', scope.key, '(' .. decimal_text(now), '+inf')
  for i, score in ipairs(fetch('ZMSCORE', scope.key, ARGV, name, member_count)) do
    scope.ends[i] = tonumber(score or 0)
  end
  return scope
end

local scopes, at = {}, 7
for i = 1, scope_count do
  scopes[i] = load_scope(at, texts + 1)
  at, texts = at + 2, texts + 1 + scopes[i].member_count
end

---------------------------------------------------------------- the transaction that is decided

local expected_rules_seq, changes_rules, not_before_ms, not_after_ms, loose_event_count
local requests_at, swaps_at, checks_at, permits_at, limits_at, events_at, transaction_end

local function open_transaction(from)
  local request_count, swap_count, check_count, permit_count, limit_count, length
  expected_rules_seq, changes_rules, not_before_ms, not_after_ms, request_count, swap_count, check_count, permit_count,
    limit_count, loose_event_count, length = unpack(tape, from, from + 10)
  requests_at = from + 11
  swaps_at = requests_at + 2 * request_count
  checks_at = swaps_at + 4 * swap_count
  permits_at = checks_at + 2 * check_count
  limits_at = permits_at + 3 * permit_count
  events_at = limits_at + 2 * limit_count
  transaction_end = from + length
end

---------------------------------------------------------------- whether it is refused

local function has_moved()
  if expected_rules_seq >= 0 and expected_rules_seq ~= rules_seq then return true end
  for swap = swaps_at, checks_at - 1, 4 do
    if seq_of[tape[swap]] ~= tape[swap + 1] then return true end
  end
  for check = checks_at, permits_at - 1, 2 do
    if seq_of[tape[check]] ~= tape[check + 1] then return true end
  end
  return false
end

local function head_of(subject)
  return new_head[subject] or redis.call('HGET', project .. ':heads', ARGV[subjects + subject]) or ''
end

local function conflict()
  local outcome = { CONFLICT, rules_seq }
  for swap = swaps_at, checks_at - 1, 4 do outcome[#outcome + 1] = head_of(tape[swap]) end
  for check = checks_at, permits_at - 1, 2 do outcome[#outcome + 1] = head_of(tape[check]) end
  return outcome
end

-- How many more permits of a scope would be live, and whether a member would get one. The last entry per member wins.
local function change_of(number)
  local scope, end_by_member = scopes[number], {}
  for permit = permits_at, limits_at - 1, 3 do
    if tape[permit] == number then end_by_member[tape[permit + 1]] = tape[permit + 2] end
  end
  local change, is_taken = 0, false
  for member, end_ms in pairs(end_by_member) do
    local was_live, is_live = scope.ends[member] > now, end_ms > now
    if is_live and not was_live then change, is_taken = change + 1, true end
    if was_live and not is_live then change = change - 1 end
  end
  return change, is_taken
end

local function full_scope()
  local permit_count = (limits_at - permits_at) / 3
  for limit = limits_at, events_at - 1, 2 do
    local scope, max = scopes[tape[limit]], tape[limit + 1]
    if scope.live + permit_count > max then
      local change, is_taken = change_of(tape[limit])
      if is_taken and scope.live + change > max then return scope.name end
    end
  end
end

local function refusal()
  for request = requests_at, swaps_at - 1, 2 do
    local remembered = request_text[tape[request]]
    if remembered then return { REPLAY, ARGV[requests + tape[request]], remembered } end
  end
  if has_moved() then return conflict() end
  if now < not_before_ms then return { EARLY } end
  if now >= not_after_ms then return { LATE } end
  local scope = full_scope()
  return scope and { FULL, scope }
end

---------------------------------------------------------------- what an accepted transaction does

local lines, times, numbers_by = {}, {}, {}
local new_subjects, new_loose_ids, new_requests, request_keys = {}, {}, {}, {}

-- Adds an event, and returns where in the tape the next one is.
local function add_event(event, outcome)
  local number = #lines + 1
  local index_end = event + 3 + tape[event + 2]
  lines[number], times[number] = ARGV[texts + tape[event]], tape[event + 1]
  for index = event + 3, index_end - 1 do
    local numbers = numbers_by[tape[index]]
    if numbers then numbers[#numbers + 1] = number else numbers_by[tape[index]] = { number } end
  end
  outcome[#outcome + 1] = base + number
  return index_end
end

local function swap_head(swap, event, outcome)
  local subject, expected_seq, text, event_count = unpack(tape, swap, swap + 3)
  if expected_seq == 0 then
    new_subjects[#new_subjects + 1] = '0'
    new_subjects[#new_subjects + 1] = ARGV[subjects + subject]
  end
  local first = #lines + 1
  for _ = 1, event_count do event = add_event(event, outcome) end
  local posting, more = base_text .. ':' .. first .. '-' .. #lines, more_postings[subject]
  more_postings[subject] = more and more .. ' ' .. posting or posting
  new_head[subject], seq_of[subject], moved[subject] = ARGV[texts + text], expected_seq + event_count, true
  return event
end

local function add_loose_event(event, outcome)
  local number = tape[event]
  if is_known[number] == 1 then
    outcome[#outcome + 1] = 0
    return event + 4 + tape[event + 3]
  end
  is_known[number] = 1
  new_loose_ids[#new_loose_ids + 1] = ARGV[loose_ids + number]
  return add_event(event + 1, outcome)
end

local function move_end_of_head(subject, end_ms)
  if seq_of[subject] > 0 then
    moved[subject], has_new_end[subject] = true, true
  elseif end_ms > now then
    error('a permit on the head of ' .. ARGV[subjects + subject] .. ', which does not exist')
  end
end

local function move_permits()
  for permit = permits_at, limits_at - 1, 3 do
    local scope, member, end_ms = scopes[tape[permit]], tape[permit + 1], tape[permit + 2]
    local was_live, is_live = scope.ends[member] > now, end_ms > now
    if is_live and not was_live then scope.live = scope.live + 1 end
    if was_live and not is_live then scope.live = scope.live - 1 end
    scope.ends[member], scope.moved[member] = end_ms, true
    if scope.ended then move_end_of_head(member, end_ms) end
  end
end

local function remember(request, postings)
  local number, text = tape[request], tape[request + 1]
  if text == 0 then return end
  local key, remembered = ARGV[requests + number], postings .. ' ' .. ARGV[texts + text]
  request_text[number] = remembered
  request_keys[#request_keys + 1] = key
  new_requests[#new_requests + 1] = key
  new_requests[#new_requests + 1] = remembered
end

local function accept()
  rules_seq = rules_seq + changes_rules
  local outcome, event, first = { COMMITTED, rules_seq }, events_at, #lines + 1
  for swap = swaps_at, checks_at - 1, 4 do event = swap_head(swap, event, outcome) end
  for _ = 1, loose_event_count do event = add_loose_event(event, outcome) end
  move_permits()
  local postings = base_text .. ':' .. (#lines >= first and first .. '-' .. #lines or '')
  for request = requests_at, swaps_at - 1, 2 do remember(request, postings) end
  if #lines >= first or limits_at > permits_at or changes_rules > 0 or #request_keys > 0 then is_written = true end
  return outcome
end

local outcomes = { now }
for i = 1, transaction_count do
  open_transaction(at)
  outcomes[i + 1] = refusal() or accept()
  at = transaction_end
end

---------------------------------------------------------------- what is written

-- Writes the lines in chunks, and the range of times of each chunk. A time that could not be read is not a number, and
-- compares as neither less nor greater.
local function write_events()
  local chunks, ranges = {}, {}
  for first = 1, #lines, CHUNK_EVENTS do
    local last = math.min(first + CHUNK_EVENTS - 1, #lines)
    local min_ms, max_ms = math.huge, -math.huge
    for i = first, last do
      if times[i] < min_ms then min_ms = times[i] end
      if times[i] > max_ms then max_ms = times[i] end
    end
    chunks[#chunks + 1] = table.concat(lines, '\n', first, last)
    ranges[#ranges + 1] = min_ms
    ranges[#ranges + 1] = max_ms
  end
  write_chunks(project, base, #lines, chunks, 0, ranges, 0)
  local names, numbers = {}, {}
  for value, list in pairs(numbers_by) do
    names[#names + 1] = ARGV[values + value]
    numbers[#numbers + 1] = table.concat(list, ',')
  end
  write_index(project, base_text, names, 0, numbers, 0, #names)
end

local function write_heads()
  local heads, marks, more_held = {}, {}, 0
  for subject in pairs(moved) do
    local postings, more = postings_of[subject], more_postings[subject]
    if more then postings = add_postings(project, 'head:' .. ARGV[subjects + subject], postings, more) end
    local end_kept = end_kept_of[subject]
    if has_new_end[subject] then
      local end_new = held_text(end_of[subject], now)
      more_held = more_held + held_change(end_kept, end_new)
      end_kept = end_new
    end
    marks[#marks + 1] = ARGV[subjects + subject]
    marks[#marks + 1] = seq_of[subject] .. ' ' .. end_kept .. ' ' .. postings
    if new_head[subject] then
      heads[#heads + 1] = ARGV[subjects + subject]
      heads[#heads + 1] = new_head[subject]
    end
  end
  write('HSET', project .. ':heads', heads)
  write('HSET', project .. ':marks', marks)
  write('ZADD', project .. ':subjects', new_subjects)
  write_held(tenant, ARGV[3], more_held)
end

local function write_members(scope)
  local taken, released = {}, {}
  for member in pairs(scope.moved) do
    if scope.ends[member] > now then
      taken[#taken + 1] = end_text(scope.ends[member])
      taken[#taken + 1] = ARGV[scope.members + member]
    else
      released[#released + 1] = ARGV[scope.members + member]
    end
  end
  redis.call('ZREMRANGEBYSCORE', scope.key, '-inf', decimal_text(now))
  write('ZADD', scope.key, taken)
  write('ZREM', scope.key, released)
end

local function write_scope(scope)
  if not scope.ended then return write_members(scope) end
  local changes = {}
  for subject in pairs(scope.moved) do move_end(changes, now, had_end[subject], end_of[subject]) end
  write_ends(tenant, scope.name, now, scope.ended, scope.live_before, changes)
end

redis.call('HSET', tenant, 'now_ms', decimal_text(now))
if is_written then
  if not row[1] then redis.call('SADD', tenant .. ':projects', ARGV[3]) end
  redis.call('HSET', project, 'position', decimal_text(base + #lines), 'rules_seq', decimal_text(rules_seq))
  write_heads()
  if #lines > 0 then write_events() end
  write('SADD', project .. ':loose', new_loose_ids)
  write_requests(project, now, new_requests, request_keys)
end
for _, scope in ipairs(scopes) do
  if next(scope.moved) then write_scope(scope) end
end
redis.call('SET', batch, cmsgpack.pack(outcomes), 'PX', BATCH_KEPT_MS)
return outcomes
