import type { MigrationStep } from '../migrator.js';
import type { RedisKeys } from './keys.js';
import { scriptOf } from './script.js';

/** A migration step in Lua: KEYS[1] is the meta key, ARGV[1] a new secret. */
interface RedisMigration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}

const MIGRATIONS: readonly RedisMigration[] = [
  {
    version: 1,
    name: 'secret and incarnation',
    statements: ["redis.call('HSET', KEYS[1], 'secret', ARGV[1], 'incarnation', 1)"],
  },
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Redis has no schema beyond the meaning of its keys; the version in the meta key says which one applies. */
export function stepsAfter(found: number, keys: RedisKeys): MigrationStep[] {
  return MIGRATIONS.filter(({ version }) => version > found).map(({ version, name, statements }) => ({
    version,
    name,
    statements: [...statements, versionStatement(version)].map((text) =>
      text.replace('KEYS[1]', `'${keys.meta}'`),
    ),
  }));
}

/** Applies a step if it is the next one. Of several concurrent runs, one applies it and gets 1. */
export const migrationScript = ({ version }: MigrationStep) => {
  const { statements } = MIGRATIONS[version - 1] as RedisMigration;
  return scriptOf(`
if tonumber(redis.call('HGET', KEYS[1], 'version') or 0) ~= ${version - 1} then return 0 end
${statements.join('\n')}
${versionStatement(version)}
return 1
`);
};

const versionStatement = (version: number): string => `redis.call('HSET', KEYS[1], 'version', ${version})`;

/** The commands on keys that the store uses, inside and outside scripts. */
const KEY_COMMANDS =
  'get set strlen getrange append persist rename hget hmget hset hdel sadd smembers smismember zadd zrem zremrangebyscore zcount zmscore zrange rpush lpop lrange lindex llen'.split(
    ' ',
  );

/** The permissions that the Redis user needs: these commands, on the keys of its namespace, and nothing else. */
export const aclRules = (namespace: string): string =>
  `~${namespace}:* +eval +evalsha +time +info +config|get +select ${KEY_COMMANDS.map((name) => `+${name}`).join(' ')}`;

/**
 * Returns the identity of the store, and records the replication id under which it is served. A server changes that id
 * when it starts and when it is promoted: if history may have been lost with the change, the incarnation is raised. It
 * is raised at least to the time, so that two servers which lost different histories never reach the same number.
 *
 * A user that lacks a command is detected here: a script that met its first forbidden command after it had written
 * would leave half a batch behind.
 *
 * KEYS  meta
 * ARGV  the replication id, whether a change of it means a loss (1 or 0)
 */
export const IDENTIFY_SCRIPT = scriptOf(`
for command in string.gmatch('${KEY_COMMANDS.join(' ')}', '%S+') do
  if not redis.acl_check_cmd(command, KEYS[1], KEYS[1], '0', '0') then
    return redis.error_reply('NOPERM ' .. command)
  end
end
local version, secret, incarnation, lineage =
  unpack(redis.call('HMGET', KEYS[1], 'version', 'secret', 'incarnation', 'lineage'))
if tonumber(version or 0) ~= ${SCHEMA_VERSION} then return { tonumber(version or 0) } end
incarnation = tonumber(incarnation)
if lineage ~= ARGV[1] then
  if lineage and ARGV[2] == '1' then incarnation = math.max(incarnation + 1, redis.call('TIME')[1] * 1000) end
  redis.call('HSET', KEYS[1], 'incarnation', incarnation, 'lineage', ARGV[1])
end
return { tonumber(version), secret, incarnation }
`);
