import type { MigrationStep } from '../migrator.js';
import { type RedisScript, readScript } from './script.js';

/** Redis has no schema beyond the meaning of its keys; the version in the meta key says which meaning applies. */
export const SCHEMA = 'The Genesis Fleet schema in this Redis';
export const SCHEMA_VERSION = 2;

const FIRST_SCRIPT = readScript(new URL('./migration-1.lua', import.meta.url));
/** Records that a step was applied. */
const APPLIED_SCRIPT = readScript(new URL('./migration-applied.lua', import.meta.url));

/** A step, and the script that applies it, or that records it after the conversion of the data. */
type RedisStep = MigrationStep & { readonly script: RedisScript; readonly needsConversion: boolean };

export function migrationSteps(metaKey: string): readonly RedisStep[] {
  const commands = FIRST_SCRIPT.text.match(/^redis\.call.*$/gm) ?? [];
  const create = commands.map((command) => command.replace('KEYS[1]', `'${metaKey}'`));
  const convert = [
    '-- converts every project: events in chunks, packed heads, an index of events, permits counted by their end',
    `redis.call('HSET', '${metaKey}', 'version', 2)`,
  ];
  return [
    {
      version: 1,
      name: 'secret and incarnation',
      statements: create,
      script: FIRST_SCRIPT,
      needsConversion: false,
    },
    {
      version: 2,
      name: 'events in chunks',
      statements: convert,
      script: APPLIED_SCRIPT,
      needsConversion: true,
    },
  ];
}

/**
 * The commands on keys that the store uses, inside and outside scripts. Only the conversion of version 1 uses others:
 * exists, unlink, scan and hscan.
 */
const KEY_COMMANDS =
  'get set strlen getrange append persist rename hget hmget hset hdel hlen sadd smembers smismember zadd zrem zremrangebyscore zcount zmscore zrange rpush lpop lrange lindex llen';

/** The permissions that a store of the current version needs: these commands, on the keys of its namespace. */
export const aclRules = (namespace: string): string =>
  `~${namespace}:* +eval +evalsha +time +info +config|get +select +${KEY_COMMANDS.replaceAll(' ', ' +')}`;

export const IDENTIFY_SCRIPT = readScript(new URL('./identify.lua', import.meta.url), {
  KEY_COMMANDS: `'${KEY_COMMANDS}'`,
  SCHEMA_VERSION,
});
