-- Commits a batch of one project if it is certain that no transaction is refused and that no loose event is stored
-- already; or else writes nothing and returns 0. The first is the usual case, and it needs no decision per transaction:
-- whole-batch.ts has applied the transactions in order, on the assumption that each is committed.
--
-- KEYS  tenant, project, batch
-- ARGV  the replication id that the server must have ('': any), a MessagePack array of numbers, the project's name, then
--       strings
-- Returns the time, the position before the batch, and rules_seq after it.

local tenant, project, batch = KEYS[1], KEYS[2], KEYS[3]
local problem = assert_lineage(ARGV[1])
if problem then return problem end
local known = redis.call('GET', batch)
if known then return cmsgpack.unpack(known) end

local numbers = cmsgpack.unpack(ARGV[2])
local rules_seq, changes_rules, not_before_ms, not_after_ms, is_written, event_count, swap_count, check_count,
  request_count, kept_count, value_count, loose_count, scope_count = unpack(numbers, 1, 13)

-- Where each kind of string and number begins, less one.
local chunk_count = math.ceil(event_count / CHUNK_EVENTS)
local subjects = 3
local heads = subjects + swap_count + check_count
local requests = heads + swap_count
local request_texts = requests + request_count
local chunks = request_texts + kept_count
local values = chunks + chunk_count
local value_numbers = values + value_count
local loose_ids = value_numbers + value_count
local scopes = loose_ids + loose_count
local swap_numbers = 13
local check_numbers = swap_numbers + 4 * swap_count
local times = check_numbers + check_count
local scope_numbers = times + 2 * chunk_count

---------------------------------------------------------------- whether any transaction is refused

local now = clock_of(tenant)
if now < not_before_ms or now >= not_after_ms then return 0 end

local row = redis.call('HMGET', project, 'position', 'rules_seq')
local base, current_rules_seq = tonumber(row[1] or 0), tonumber(row[2] or 0)
if rules_seq >= 0 and rules_seq ~= current_rules_seq then return 0 end

for _, request in ipairs(fetch('HMGET', project .. ':requests', ARGV, requests, request_count)) do
  if request then return 0 end
end
for _, is_known in ipairs(fetch('SMISMEMBER', project .. ':loose', ARGV, loose_ids, loose_count)) do
  if is_known == 1 then return 0 end
end

local stored = fetch('HMGET', project .. ':marks', ARGV, subjects, swap_count + check_count)
for i = 1, check_count do
  local mark = stored[swap_count + i]
  local seq = mark and tonumber(string.match(mark, '^%d+')) or 0
  if seq ~= numbers[check_numbers + i] then return 0 end
end
local ends, postings = {}, {}
for i = 1, swap_count do
  local seq
  if stored[i] then seq, ends[i], postings[i] = string.match(stored[i], '^(%d+) (%S+) (.*)$') end
  if (tonumber(seq) or 0) ~= numbers[swap_numbers + 4 * i - 3] then return 0 end
end

-- If all permits that the transactions take fit at once, even before any is released, no transaction finds a scope full.
local ended, live = {}, {}
local scope_at, name_at = scope_numbers, scopes
for scope = 1, scope_count do
  local is_on_heads, max, taken_count, member_count = unpack(numbers, scope_at + 1, scope_at + 4)
  local name = ARGV[name_at + 1]
  if is_on_heads == 1 then
    ended[scope], live[scope] = load_ends(tenant, name, now)
  else
    live[scope] = redis.call('ZCOUNT', tenant .. ':permits:' .. name, '(' .. decimal_text(now), '+inf')
  end
  if live[scope] + taken_count > max then return 0 end
  scope_at, name_at = scope_at + 4 + member_count, name_at + 1 + member_count
end

---------------------------------------------------------------- what is written

local base_text = decimal_text(base)
local new_heads, new_marks, new_subjects, end_changes = {}, {}, {}, {}
local more_held = 0
for i = 1, swap_count do
  local expected_seq, first, count, end_ms = unpack(numbers, swap_numbers + 4 * i - 3, swap_numbers + 4 * i)
  local subject, end_kept = ARGV[subjects + i], ends[i] or '0'
  if expected_seq == 0 then
    new_subjects[#new_subjects + 1] = '0'
    new_subjects[#new_subjects + 1] = subject
  end
  if end_ms >= 0 then
    move_end(end_changes, now, tonumber(end_kept), end_ms)
    local end_new = held_text(end_ms, now)
    more_held = more_held + held_change(end_kept, end_new)
    end_kept = end_new
  end
  local posting = base_text .. ':' .. first
  if count > 1 then posting = posting .. '-' .. (first + count - 1) end
  new_heads[2 * i - 1], new_heads[2 * i], new_marks[2 * i - 1] = subject, ARGV[heads + i], subject
  new_marks[2 * i] = (expected_seq + count) .. ' ' .. end_kept .. ' '
    .. add_postings(project, 'head:' .. subject, postings[i], posting)
end

local new_requests, request_keys = {}, {}
for i = 1, kept_count do
  local key = ARGV[requests + i]
  request_keys[i] = key
  new_requests[2 * i - 1], new_requests[2 * i] = key, base_text .. ARGV[request_texts + i]
end

local function write_scope(scope, name, at, names_at, member_count)
  if ended[scope] then return write_ends(tenant, name, now, ended[scope], live[scope], end_changes) end
  local key, taken, released = tenant .. ':permits:' .. name, {}, {}
  for i = 1, member_count do
    local end_ms, member = numbers[at + i], ARGV[names_at + i]
    if end_ms > now then
      taken[#taken + 1] = end_text(end_ms)
      taken[#taken + 1] = member
    else
      released[#released + 1] = member
    end
  end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', decimal_text(now))
  write('ZADD', key, taken)
  write('ZREM', key, released)
end

redis.call('HSET', tenant, 'now_ms', decimal_text(now))
if is_written == 1 then
  if not row[1] then redis.call('SADD', tenant .. ':projects', ARGV[3]) end
  local position = decimal_text(base + event_count)
  redis.call('HSET', project, 'position', position, 'rules_seq', decimal_text(current_rules_seq + changes_rules))
  write('HSET', project .. ':heads', new_heads)
  write('HSET', project .. ':marks', new_marks)
  write('ZADD', project .. ':subjects', new_subjects)
  write_held(tenant, ARGV[3], more_held)
  if event_count > 0 then
    write_chunks(project, base, event_count, ARGV, chunks, numbers, times)
    write_index(project, base_text, ARGV, values, ARGV, value_numbers, value_count)
  end
  write('SADD', project .. ':loose', ARGV, loose_ids, loose_count)
  write_requests(project, now, new_requests, request_keys)
end
scope_at, name_at = scope_numbers, scopes
for scope = 1, scope_count do
  local member_count = numbers[scope_at + 4]
  write_scope(scope, ARGV[name_at + 1], scope_at + 4, name_at + 1, member_count)
  scope_at, name_at = scope_at + 4 + member_count, name_at + 1 + member_count
end

local reply = { now, base, current_rules_seq + changes_rules }
redis.call('SET', batch, cmsgpack.pack(reply), 'PX', BATCH_KEPT_MS)
return reply
