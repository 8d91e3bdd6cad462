-- Converts a part of a project, or of a scope of permits, from version 1. Runs may be interrupted and may overlap: a
-- converted event or request is removed from the old keys in the same call, any other part may be converted again. The
-- call does nothing when the old key is gone, because then everything is converted.
--
-- KEYS  the old key that must still exist, tenant, project
-- ARGV  the part, then its values
local old, tenant, project = KEYS[1], KEYS[2], KEYS[3]
local part = ARGV[1]
if redis.call('EXISTS', old) == 0 then return 0 end
local parts = {}

-- ARGV  the position before the first event, event count, name count, times, then chunks, names, their numbers
function parts.events()
  local base, event_count, name_count = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  if tonumber(redis.call('HGET', project, 'position') or 0) ~= base then return 0 end
  local chunk_count = math.ceil(event_count / CHUNK_EVENTS)
  write_chunks(project, base, event_count, ARGV, 5, cmsgpack.unpack(ARGV[5]), 0)
  write_index(project, decimal_text(base), ARGV, 5 + chunk_count, ARGV, 5 + chunk_count + name_count, name_count)
  local done = {}
  for position = base + 1, base + event_count do done[#done + 1] = decimal_text(position) end
  redis.call('HSET', project, 'position', decimal_text(base + event_count))
  write('HDEL', old .. ':events', done)
end

-- ARGV  subject, seq, head, in turn
function parts.heads()
  local heads, marks = {}, {}
  for i = 2, #ARGV, 3 do
    heads[#heads + 1] = ARGV[i]
    heads[#heads + 1] = ARGV[i + 2]
    marks[#marks + 1] = ARGV[i]
    marks[#marks + 1] = ARGV[i + 1] .. ' 0 '
  end
  write('HSET', project .. ':heads', heads)
  write('HSET', project .. ':marks', marks)
end

-- ARGV  the first entry of the old order, the number of its entries, the latest of their times; then key and text
function parts.requests()
  if redis.call('LINDEX', old .. ':request_order', 0) ~= ARGV[2] then return 0 end
  local requests, keys = {}, {}
  for i = 5, #ARGV do requests[#requests + 1] = ARGV[i] end
  for i = 5, #ARGV, 2 do keys[#keys + 1] = ARGV[i] end
  redis.call('LPOP', old .. ':request_order', ARGV[3])
  write('HSET', project .. ':requests', requests)
  if #keys > 0 then redis.call('RPUSH', project .. ':request_order', ARGV[4] .. ' ' .. cjson.encode(keys)) end
end

-- ARGV  scope, then member and end of the permits that are not on heads
function parts.members()
  for i = 3, #ARGV, 2 do redis.call('ZADD', tenant .. ':permits:' .. ARGV[2], ARGV[i + 1], ARGV[i]) end
end

-- ARGV  scope, then subject and end of the permits on heads of this project
function parts.ends()
  local changes, now = {}, clock_of(tenant)
  local ended, live = load_ends(tenant, ARGV[2], now)
  for i = 3, #ARGV, 2 do
    local seq, end_kept, postings = string.match(redis.call('HGET', project .. ':marks', ARGV[i]), '^(%d+) (%S+) (.*)$')
    local end_ms = tonumber(ARGV[i + 1])
    move_end(changes, now, tonumber(end_kept), end_ms)
    redis.call('HSET', project .. ':marks', ARGV[i], seq .. ' ' .. end_text(end_ms) .. ' ' .. postings)
  end
  write_ends(tenant, ARGV[2], now, ended, live, changes)
end

-- ARGV  none: the permits are converted
function parts.scope() redis.call('UNLINK', old) end

-- ARGV  names in the index whose lists of version 1 are removed
function parts.lists()
  for i = 2, #ARGV do redis.call('UNLINK', old .. ':by:' .. ARGV[i]) end
end

-- ARGV  none: everything else is converted
function parts.project()
  redis.call('HSET', project, 'position', redis.call('HGET', old, 'position'))
  redis.call('HSET', project, 'rules_seq', redis.call('HGET', old, 'rules_seq'))
  for from, to in pairs({ notes = 'loose', subjects = 'subjects' }) do
    if redis.call('EXISTS', old .. ':' .. from) == 1 then redis.call('RENAME', old .. ':' .. from, project .. ':' .. to) end
  end
  for _, name in ipairs({ 'heads', 'events', 'times', 'requests', 'request_order' }) do redis.call('UNLINK', old .. ':' .. name) end
  redis.call('UNLINK', old)
end

return parts[part]() or 1
