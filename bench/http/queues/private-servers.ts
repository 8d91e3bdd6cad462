import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A private server on a free local port, with a temporary folder that is removed with it. */
export interface PrivateServer {
  readonly port: number;
  readonly pid: number;
  readonly version: string;
  stop(): Promise<void>;
}

/** Starts Redis with every change on disk before it replies. Null: Redis is not installed. */
export async function startRedis(): Promise<PrivateServer | null> {
  const version = await run('redis-server', ['--version']).catch(() => null);
  if (version === null) return null;
  const dir = await mkdtemp(join(tmpdir(), 'bench-redis-'));
  const port = await freePort();
  const durable = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];
  const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir];
  const child = spawn('redis-server', [...address, ...durable], { stdio: 'ignore' });
  await waitUntilAnswering(port, child);
  return {
    port,
    pid: child.pid as number,
    version: `Redis ${/v=([\d.]+)/.exec(version.stdout)?.[1]}`,
    stop: () => stopServer(child, 'SIGTERM', dir),
  };
}

/**
 * Starts PostgreSQL with its default durability: fsync on, and a commit waits for it. Null: PostgreSQL is not
 * installed.
 */
export async function startPostgres(): Promise<PrivateServer | null> {
  const bin = await postgresFolder();
  if (bin === null) return null;
  const dir = await mkdtemp(join(tmpdir(), 'bench-postgres-'));
  const port = await freePort();
  const owner = await giveToPostgresUser(dir);
  const data = join(dir, 'data');
  await run(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8'], owner);
  const settings = [
    'fsync=on',
    'synchronous_commit=on',
    'listen_addresses=127.0.0.1',
    'shared_buffers=256MB',
  ];
  const address = ['-D', data, '-p', String(port), '-k', dir];
  const child = spawn(
    join(bin, 'postgres'),
    [...address, ...settings.flatMap((setting) => ['-c', setting])],
    {
      ...owner,
      stdio: 'ignore',
    },
  );
  await waitUntilAnswering(port, child);
  const { stdout } = await run(join(bin, 'postgres'), ['--version']);
  const version = `PostgreSQL ${/[\d.]+/.exec(stdout)?.[0]}`;
  return { port, pid: child.pid as number, version, stop: () => stopServer(child, 'SIGINT', dir) };
}

/**
 * The folder of the programs of PostgreSQL; empty if they are on the PATH, null if none are found. Debian keeps them
 * outside the PATH, in one folder per version.
 */
async function postgresFolder(): Promise<string | null> {
  const debian = '/usr/lib/postgresql';
  const versions = await readdir(debian).catch(() => []);
  const folders = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(debian, version, 'bin'));
  for (const folder of ['', ...folders]) {
    const version = await run(join(folder, 'initdb'), ['--version']).catch(() => null);
    if (version !== null) return folder;
  }
  return null;
}

/** PostgreSQL refuses to run as root, so then it runs as the user postgres. */
async function giveToPostgresUser(dir: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const posixId = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
  const owner = { uid: await posixId('-u'), gid: await posixId('-g') };
  await chown(dir, owner.uid, owner.gid);
  return owner;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

async function waitUntilAnswering(port: number, child: ChildProcess): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  while (performance.now() < deadlineMs && child.exitCode === null) {
    const socket = connect(port, '127.0.0.1');
    const [isOpen] = await Promise.race([
      once(socket, 'connect').then(() => [true]),
      once(socket, 'close').then(() => [false]),
    ]).catch(() => [false]);
    socket.destroy();
    // The server listens shortly before it accepts clients.
    if (isOpen) return sleep(500);
    await sleep(50);
  }
  throw new Error(`${child.spawnfile} did not accept connections on port ${port} within 20 s.`);
}

async function stopServer(child: ChildProcess, signal: NodeJS.Signals, dir: string): Promise<void> {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
  await rm(dir, { recursive: true, force: true });
}
