import { createConnection } from 'node:net';
import { isSelected, type MissingDatabase, NOT_SELECTED, type TestDatabase } from '../testing/database.js';
import { findInstalledProgram } from '../testing/program.js';
import { newServerLocation, ServerProcess } from '../testing/server-process.js';
import { parseRedisUrl, type RedisOptions } from './options.js';

const DURABLE: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** The Redis of GENESIS_TEST_REDIS, or else a new one. */
export async function startRedis(): Promise<TestDatabase | MissingDatabase> {
  const configuredUrl = process.env.GENESIS_TEST_REDIS ?? '';
  return configuredUrl === '' ? startOwnRedis() : { url: configuredUrl, stop: async () => {} };
}

/** An exclusive server, which the test may kill, freeze and configure; by default with the settings of profile `durable`. */
export async function startOwnRedis(
  settings = DURABLE,
  parent?: string,
): Promise<Required<TestDatabase> | MissingDatabase> {
  if (!isSelected('redis')) return NOT_SELECTED;
  const program = findInstalledProgram('redis-server', 'valkey-server');
  if (program === null) return { missing: 'redis-server is not installed (npm run engines:install)' };
  const spec = {
    name: program,
    command: ({ port, folder }: { port: number; folder: string }) => ({
      program,
      args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings],
    }),
    isReady,
  };
  const { location, restart, halt, boot, freeze, thaw, stop } = await ServerProcess.start(
    spec,
    await newServerLocation('redis', parent),
  );
  return { url: `redis://127.0.0.1:${location.port}`, restart, halt, boot, freeze, thaw, stop };
}

/** PING is refused while the data is being loaded. */
function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write('PING\r\n'));
    socket.once('error', () => resolve(false)).once('close', () => resolve(false));
    socket.once('data', (reply) => {
      socket.destroy();
      resolve(reply.toString().startsWith('+PONG'));
    });
  });
}

/** Timeouts long enough for any slow machine: the store gives up only on a hanging server. */
export const optionsWithLongTimeouts = (url: string): RedisOptions => ({
  ...parseRedisUrl(url),
  connect_timeout_ms: 600_000,
  statement_timeout_ms: 600_000,
});
