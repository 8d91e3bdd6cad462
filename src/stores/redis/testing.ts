import { createConnection } from 'node:net';
import { isWanted, type MissingEngine, NOT_WANTED, type TestEngine } from '../testing/engine.js';
import { findProgram } from '../testing/program.js';
import { newPlace, ServerProcess } from '../testing/server-process.js';
import { parseRedisUrl, type RedisOptions } from './configuration.js';

const DURABLE: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** A real Redis: the one GENESIS_TEST_REDIS names, else one of our own. */
export async function startRedis(): Promise<TestEngine | MissingEngine> {
  const given = process.env.GENESIS_TEST_REDIS ?? '';
  return given === '' ? startOwnRedis() : { url: given, stop: async () => {} };
}

/** One that nobody else uses, to be ended, frozen and set up at will; by default as profile `durable` wants it. */
export async function startOwnRedis(
  settings = DURABLE,
  parent?: string,
): Promise<Required<TestEngine> | MissingEngine> {
  if (!isWanted('redis')) return NOT_WANTED;
  const program = findProgram('redis-server', 'valkey-server');
  if (program === null) return { missing: 'redis-server is not installed (npm run engines:install)' };
  const plan = {
    name: program,
    command: ({ port, folder }: { port: number; folder: string }) => ({
      program,
      args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings],
    }),
    answers: hasLoaded,
  };
  const { place, restart, halt, boot, freeze, thaw, stop } = await ServerProcess.start(
    plan,
    await newPlace('redis', parent),
  );
  return { url: `redis://127.0.0.1:${place.port}`, restart, halt, boot, freeze, thaw, stop };
}

/** PING is refused while the data is still being read. */
function hasLoaded(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write('PING\r\n'));
    socket.once('error', () => resolve(false)).once('close', () => resolve(false));
    socket.once('data', (reply) => {
      socket.destroy();
      resolve(reply.toString().startsWith('+PONG'));
    });
  });
}

/** For a store that only gives up on a server that hangs, however slow the machine is. */
export const patientOptions = (url: string): RedisOptions => ({
  ...parseRedisUrl(url),
  connect_timeout_ms: 600_000,
  statement_timeout_ms: 600_000,
});
