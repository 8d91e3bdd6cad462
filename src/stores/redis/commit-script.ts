import { REQUEST_WINDOW_MS, REQUESTS_MAX } from '../store.js';
import { scriptOf } from './script.js';

/** How long the outcomes of a batch are kept for whoever asks again after losing the connection. */
const BATCH_KEPT_MS = 300_000;

/** Times of events are kept as the span of so many positions, in two sizes: long ones to pass over much at once. */
export const ZONE_SIZES = [65_536, 256] as const;

/** Later than any time, and a number to JSON, to Lua and to a sorted set. */
export const FOREVER_MS = 1e300;

/** The first number of an outcome. */
export const REPLAY = 1;
export const CONFLICT = 2;
export const EARLY = 3;
export const LATE = 4;
export const FULL = 5;
export const COMMITTED = 6;

/** The engine's clock in whole milliseconds, never behind what this tenant was told before. */
export const CLOCK = `
local function clock_of(tenant)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  return math.max(now, tonumber(redis.call('HGET', tenant, 'now_ms') or 0))
end
`;

/**
 * A whole batch of one tenant. First everything the units look at is fetched, each key in one call; then they are
 * decided in order on what was fetched, each on what those before it left; then everything they did is written, again
 * each key in one call. Nothing is written before all is decided, and once a script has written Redis lets it finish:
 * so a batch happens whole or not at all, also when memory or disk run out.
 *
 * KEYS  tenant, batch
 * ARGV  the plan, as batch.ts makes it; then texts, which the plan names by number and the script never reads:
 *       Lua's JSON would spoil them. A number in the plan is below 2^53, and Redis writes it out whole.
 */
export const COMMIT = scriptOf(`${CLOCK}
local REPLAY, CONFLICT, EARLY, LATE, FULL, COMMITTED = ${REPLAY}, ${CONFLICT}, ${EARLY}, ${LATE}, ${FULL}, ${COMMITTED}
local ZONE_SIZES = { ${ZONE_SIZES.join(', ')} }
local NONE = {}
local UNPACKED_MAX = 4000 -- values in one call: what Lua's stack holds, and even, for those that come in pairs

local tenant, batch = KEYS[1], KEYS[2]
local plan = cjson.decode(ARGV[1])

if plan.lineage and not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. plan.lineage, 1, true) then
  return redis.error_reply('LINEAGE another server, or the same after a restart')
end
local known = redis.call('GET', batch)
if known then return cmsgpack.unpack(known) end

local now = clock_of(tenant)
local now_text = string.format('%.0f', now)

---------------------------------------------------------------- what the units look at

local function fetch(command, key, names)
  local found = {}
  for from = 1, #names, UNPACKED_MAX do
    local to = math.min(from + UNPACKED_MAX - 1, #names)
    local values = redis.call(command, key, unpack(names, from, to))
    for i = 1, #values do found[from + i - 1] = values[i] end
  end
  return found
end

local function load_project(project)
  local row = redis.call('HMGET', project.key, 'position', 'rules_seq')
  project.exists = row[1] ~= false
  project.position, project.rules_seq = tonumber(row[1] or 0), tonumber(row[2] or 0)
  project.head = fetch('HMGET', project.key .. ':heads', project.subjects)
  project.seq = {}
  for i, head in ipairs(project.head) do project.seq[i] = head and tonumber(string.match(head, '^%d+')) or 0 end
  project.request = fetch('HMGET', project.key .. ':requests', project.requests)
  project.noted = fetch('SMISMEMBER', project.key .. ':notes', project.notes)
  project.moved, project.new_subjects, project.new_events, project.new_notes = {}, {}, {}, {}
  project.new_requests, project.request_order = {}, {}
  project.positions_by, project.zones = {}, { {}, {} }
end

local function load_scope(scope)
  scope.live = redis.call('ZCOUNT', scope.key, '(' .. now_text, '+inf')
  scope.until_ms, scope.moved = {}, {}
  for i, score in ipairs(fetch('ZMSCORE', scope.key, scope.members)) do
    scope.until_ms[i] = tonumber(score or 0)
  end
end

---------------------------------------------------------------- whether a unit is refused

local function has_moved(project, unit)
  if unit.rules_seq and unit.rules_seq ~= project.rules_seq then return true end
  for _, swap in ipairs(unit.swaps or NONE) do
    if project.seq[swap[1]] ~= swap[2] then return true end
  end
  for _, check in ipairs(unit.checks or NONE) do
    if project.seq[check[1]] ~= check[2] then return true end
  end
  return false
end

local function conflict(project, unit)
  local outcome = { CONFLICT, project.rules_seq }
  for _, swap in ipairs(unit.swaps or NONE) do outcome[#outcome + 1] = project.head[swap[1]] or '' end
  for _, check in ipairs(unit.checks or NONE) do outcome[#outcome + 1] = project.head[check[1]] or '' end
  return outcome
end

-- How many more would be live in a scope, and whether anybody would come in. The last word on a member stands.
local function change(slots, at)
  local scope, said = plan.scopes[at], {}
  for _, slot in ipairs(slots) do
    if slot[1] == at then said[slot[2]] = slot[3] end
  end
  local more, comes_in = 0, false
  for member, until_ms in pairs(said) do
    local was, is = scope.until_ms[member] > now, until_ms > now
    if is and not was then more, comes_in = more + 1, true end
    if was and not is then more = more - 1 end
  end
  return more, comes_in
end

local function full_scope(unit)
  local slots = unit.slots or NONE
  for _, room in ipairs(unit.rooms or NONE) do
    local scope = plan.scopes[room[1]]
    if scope.live + #slots > room[2] then
      local more, comes_in = change(slots, room[1])
      if comes_in and scope.live + more > room[2] then return scope.name end
    end
  end
end

local function refusal(project, unit)
  for _, request in ipairs(unit.requests or NONE) do
    local remembered = project.request[request[1]]
    if remembered then return { REPLAY, remembered } end
  end
  if has_moved(project, unit) then return conflict(project, unit) end
  if unit.not_before_ms and now < unit.not_before_ms then return { EARLY } end
  if unit.not_after_ms and now >= unit.not_after_ms then return { LATE } end
  local scope = full_scope(unit)
  return scope and { FULL, scope }
end

---------------------------------------------------------------- what a unit does

local function zone_at(project, level, block)
  local zone = project.zones[level][block]
  if zone then return zone end
  local kept = redis.call('HGET', project.key .. ':times', level .. ':' .. block)
  local from, to = string.match(kept or '', '^(%S+) (%S+)$')
  zone = { tonumber(from) or math.huge, tonumber(to) or -math.huge }
  project.zones[level][block] = zone
  return zone
end

-- An event is its text, its time (false: it has none that can be read), and what it is found by.
local function place(project, event)
  local position, at_ms = project.position + 1, event[2]
  project.position = position
  local events, positions_by = project.new_events, project.positions_by
  events[#events + 1] = position
  events[#events + 1] = ARGV[event[1]]
  for i = 3, #event do
    local positions = positions_by[event[i]]
    if positions then positions[#positions + 1] = position else positions_by[event[i]] = { position } end
  end
  if at_ms then
    for level, size in ipairs(ZONE_SIZES) do
      local zone = zone_at(project, level, math.floor(position / size))
      if at_ms < zone[1] then zone[1] = at_ms end
      if at_ms > zone[2] then zone[2] = at_ms end
    end
  end
  return position
end

local function swap_head(project, swap, outcome, taken)
  local subject = swap[1]
  if swap[2] == 0 then
    local new = project.new_subjects
    new[#new + 1] = 0
    new[#new + 1] = project.subjects[subject]
  end
  project.head[subject], project.moved[subject] = ARGV[swap[3]], true
  project.seq[subject] = swap[2] + #swap - 3
  for i = 4, #swap do
    local position = place(project, swap[i])
    outcome[#outcome + 1] = position
    taken[#taken + 1] = position
  end
end

local function put_note(project, note)
  if project.noted[note[1]] == 1 then return 0 end
  project.noted[note[1]] = 1
  project.new_notes[#project.new_notes + 1] = project.notes[note[1]]
  return place(project, note[2])
end

local function take_slots(slots)
  for _, slot in ipairs(slots) do
    local scope, member, until_ms = plan.scopes[slot[1]], slot[2], slot[3]
    local was, is = scope.until_ms[member] > now, until_ms > now
    if is and not was then scope.live = scope.live + 1 end
    if was and not is then scope.live = scope.live - 1 end
    scope.until_ms[member], scope.moved[member] = until_ms, true
  end
end

local function remember(project, request, taken)
  if request[2] == 0 then return end
  local key = project.requests[request[1]]
  local text = table.concat(taken, ',') .. '\\n' .. ARGV[request[2]]
  local new, order = project.new_requests, project.request_order
  project.request[request[1]], project.written = text, true
  new[#new + 1] = key
  new[#new + 1] = text
  order[#order + 1] = now_text .. ' ' .. key
end

local function take(project, unit)
  local outcome, taken = { COMMITTED, 0 }, {}
  for _, swap in ipairs(unit.swaps or NONE) do swap_head(project, swap, outcome, taken) end
  for _, note in ipairs(unit.notes or NONE) do
    local position = put_note(project, note)
    outcome[#outcome + 1] = position
    if position > 0 then taken[#taken + 1] = position end
  end
  if unit.changes_rules then project.rules_seq = project.rules_seq + 1 end
  if unit.slots then take_slots(unit.slots) end
  for _, request in ipairs(unit.requests or NONE) do remember(project, request, taken) end
  if #taken > 0 or unit.slots or unit.changes_rules then project.written = true end
  outcome[2] = project.rules_seq
  return outcome
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
  local too_many = redis.call('LLEN', order) - ${REQUESTS_MAX}
  local forgotten = {}
  for _, entry in ipairs(redis.call('LRANGE', order, 0, #project.request_order * 2)) do
    local at_ms, key = string.match(entry, '^(%d+) (.*)$')
    if #forgotten >= too_many and tonumber(at_ms) >= now - ${REQUEST_WINDOW_MS} then break end
    forgotten[#forgotten + 1] = key
  end
  if #forgotten == 0 then return end
  redis.call('LPOP', order, #forgotten)
  write('HDEL', project.key .. ':requests', forgotten)
end

local function write_project(project)
  local key = project.key
  if not project.exists then redis.call('SADD', tenant .. ':projects', project.name) end
  redis.call('HSET', key, 'position', project.position, 'rules_seq', project.rules_seq)
  local heads, zones = {}, {}
  for subject in pairs(project.moved) do
    heads[#heads + 1] = project.subjects[subject]
    heads[#heads + 1] = project.head[subject]
  end
  for level, blocks in ipairs(project.zones) do
    for block, zone in pairs(blocks) do
      zones[#zones + 1] = level .. ':' .. block
      zones[#zones + 1] = string.format('%.0f %.0f', zone[1], zone[2])
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
  for by, positions in pairs(project.positions_by) do write('RPUSH', key .. ':by:' .. by, positions) end
end

local function write_scope(scope)
  local live, gone = {}, {}
  for member in pairs(scope.moved) do
    if scope.until_ms[member] > now then
      live[#live + 1] = scope.until_ms[member]
      live[#live + 1] = scope.members[member]
    else
      gone[#gone + 1] = scope.members[member]
    end
  end
  redis.call('ZREMRANGEBYSCORE', scope.key, '-inf', now_text)
  write('ZADD', scope.key, live)
  write('ZREM', scope.key, gone)
end

----------------------------------------------------------------

for _, project in ipairs(plan.projects) do load_project(project) end
for _, scope in ipairs(plan.scopes) do load_scope(scope) end

local outcomes = { now }
for i, unit in ipairs(plan.units) do
  local project = plan.projects[unit.project]
  outcomes[i + 1] = refusal(project, unit) or take(project, unit)
end

redis.call('HSET', tenant, 'now_ms', now)
for _, project in ipairs(plan.projects) do
  if project.written then write_project(project) end
end
for _, scope in ipairs(plan.scopes) do
  if next(scope.moved) then write_scope(scope) end
end
redis.call('SET', batch, cmsgpack.pack(outcomes), 'PX', ${BATCH_KEPT_MS})
return outcomes
`);
