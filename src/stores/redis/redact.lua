-- Replaces the lines of events.
--
-- KEYS  project
-- ARGV  positions and lines, in turn
local project = KEYS[1]
local lines_by_chunk = {}
for i = 1, #ARGV, 2 do
  local position = tonumber(ARGV[i])
  local base = commit_of(project, position)
  local number = position - base - 1
  local chunk = decimal_text(base + 1 + number - number % CHUNK_EVENTS)
  lines_by_chunk[chunk] = lines_by_chunk[chunk] or {}
  lines_by_chunk[chunk][number % CHUNK_EVENTS + 1] = ARGV[i + 1]
end
for chunk, lines in pairs(lines_by_chunk) do
  local all = {}
  for line in string.gmatch(redis.call('HGET', project .. ':events', chunk), '[^\n]+') do
    all[#all + 1] = lines[#all + 1] or line
  end
  redis.call('HSET', project .. ':events', chunk, table.concat(all, '\n'))
end
