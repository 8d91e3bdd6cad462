-- Returns the version, secret and incarnation of the store (only the version, if it is not the expected one), and records
-- the replication id under which it is served. A server changes that id when it starts and when it is promoted: if history may
-- have been lost with the change, the incarnation is raised. It is raised at least to the time, so that two servers which
-- lost different histories never reach the same number.
--
-- A user that lacks a command is detected here: a script that met its first forbidden command after it had written
-- would leave half a batch behind.
--
-- KEYS  meta
-- ARGV  the replication id, whether a change of it means a loss (1 or 0)
for command in string.gmatch(KEY_COMMANDS, '%S+') do
  if not redis.acl_check_cmd(command, KEYS[1], KEYS[1], '0', '0') then
    return redis.error_reply('NOPERM ' .. command)
  end
end
local version, secret, incarnation, lineage =
  unpack(redis.call('HMGET', KEYS[1], 'version', 'secret', 'incarnation', 'lineage'))
if tonumber(version or 0) ~= SCHEMA_VERSION then return { tonumber(version or 0) } end
incarnation = tonumber(incarnation)
if lineage ~= ARGV[1] then
  if lineage and ARGV[2] == '1' then incarnation = math.max(incarnation + 1, redis.call('TIME')[1] * 1000) end
  redis.call('HSET', KEYS[1], 'incarnation', incarnation, 'lineage', ARGV[1])
end
return { tonumber(version), secret, incarnation }
