import { StoreRefused } from '../store.js';
import type { RedisOptions } from './options.js';

/** The relevant properties of the primary behind a connection. */
export type RedisServerInfo = Awaited<ReturnType<typeof runPreflight>>;

type SendCommand = (args: readonly string[]) => Promise<unknown>;

const VERSION_MIN = 7;
const NO_ID = /^0+$/;

/**
 * Refuses a server that is too old, is a replica, could evict data or, in the profile `durable`, could lose acknowledged
 * writes.
 */
export async function runPreflight(send: SendCommand, options: RedisOptions) {
  const lines = ((await send(['INFO'])) as string).split('\r\n');
  const info = new Map(lines.map((line) => line.split(/:(.*)/, 2) as [string, string]));
  if (Number.parseInt(info.get('redis_version') ?? '', 10) < VERSION_MIN) {
    throw new StoreRefused(
      `This is Redis ${info.get('redis_version')}. Use Redis ${VERSION_MIN} or newer, or Valkey.`,
    );
  }
  if (info.get('role') !== 'master') {
    throw new StoreRefused('This Redis is a read-only replica. Connect to its primary.');
  }
  const policy = info.get('maxmemory_policy');
  if (policy !== 'noeviction') {
    throw new StoreRefused(
      `maxmemory-policy is ${policy}: Redis could evict data. Run: CONFIG SET maxmemory-policy noeviction, then CONFIG REWRITE`,
    );
  }
  if (options.profile === 'durable') await assertDurable(send);
  return {
    /** Changes with every start of the server, and with every promotion of a replica. */
    replication_id: info.get('master_replid') ?? '',
    /**
     * Whether the server was a replica and has been promoted since it started: writes that its former primary
     * acknowledged may not have reached it.
     */
    isPromoted: !NO_ID.test(info.get('master_replid2') ?? '0'),
  };
}

/** The settings under which an acknowledged write is on disk. */
const DURABLE: readonly (readonly [string, string])[] = [
  ['appendonly', 'yes'],
  ['appendfsync', 'always'],
  ['no-appendfsync-on-rewrite', 'no'],
];

async function assertDurable(send: SendCommand): Promise<void> {
  const reply = (await send(['CONFIG', 'GET', ...DURABLE.map(([name]) => name)]).catch(() => [])) as string[];
  const settings = new Map(
    reply.flatMap((name, index) => (index % 2 === 0 ? [[name, reply[index + 1]]] : [])),
  );
  const wrong = DURABLE.filter(([name, required]) => settings.get(name) !== required);
  if (wrong.length === 0) return;
  const current = wrong
    .map(([name]) => `${name} is ${settings.get(name) ?? 'unknown (CONFIG GET failed)'}`)
    .join(', ');
  const commands = wrong.map(([name, required]) => `CONFIG SET ${name} ${required}`).join(', ');
  throw new StoreRefused(
    `Profile durable: ${current}. Run: ${commands}, then CONFIG REWRITE; or use ?profile=ha, which may lose acknowledged commits.`,
  );
}
