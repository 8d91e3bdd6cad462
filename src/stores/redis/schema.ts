import type { MigrationStep } from '../migrator.js';
import type { RedisKeys } from './keys.js';
import { scriptOf } from './script.js';

/** A step as Lua: KEYS[1] is the meta key, ARGV[1] a fresh secret. */
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

/** Redis has no schema but what the keys mean; the version in the meta key says which meaning that is. */
export function stepsAfter(found: number, keys: RedisKeys): MigrationStep[] {
  return MIGRATIONS.filter(({ version }) => version > found).map(({ version, name, statements }) => ({
    version,
    name,
    statements: [...statements, versionStatement(version)].map((text) =>
      text.replace('KEYS[1]', `'${keys.meta}'`),
    ),
  }));
}

/** Takes one step if it is the next: of many that run it at once, one does, and is told 1. */
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

/** What is done to keys, by the scripts and beside them. */
const KEY_COMMANDS =
  'get set strlen getrange append persist rename hget hmget hset hdel sadd smembers smismember zadd zrem zremrangebyscore zcount zmscore zrange rpush lpop lrange lindex llen'.split(
    ' ',
  );

/** What a user of the engine must be allowed: these commands, on the keys of its namespace, and nothing else. */
export const aclRules = (namespace: string): string =>
  `~${namespace}:* +eval +evalsha +time +info +config|get +select ${KEY_COMMANDS.map((name) => `+${name}`).join(' ')}`;

/**
 * Says who the store is, and notes under which replication id it is served. A server changes that id when it starts
 * and when it is promoted: if history may have been lost with the change, the incarnation is raised. Raised to the time
 * at least, so that two servers which lost different histories never come to the same number.
 *
 * A user that lacks a command is found out here: a script that met its first forbidden one after it had written
 * would leave half of a batch behind.
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
