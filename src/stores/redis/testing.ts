import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { MissingEngine, TestEngine } from '../testing/engine.js';

const DURABLE: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always'];
const START_TRIES = 400;

/** A real Redis: the one GENESIS_TEST_REDIS names, else one of our own. */
export async function startRedis(): Promise<TestEngine | MissingEngine> {
  const url = process.env.GENESIS_TEST_REDIS ?? '';
  return url === '' ? startOwnRedis() : { url, stop: async () => {} };
}

/** One that nobody else uses, to be ended, frozen and set up at will; by default as profile `durable` wants it. */
export async function startOwnRedis(settings = DURABLE): Promise<RedisProcess | MissingEngine> {
  const program = installed('redis-server') ?? installed('valkey-server');
  if (program === null) return { missing: 'redis-server is not installed' };
  return RedisProcess.start(program, settings);
}

export class RedisProcess implements TestEngine {
  readonly url: string;
  private child: ChildProcess;
  private readonly onExit = () => {
    this.child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  };

  private constructor(
    private readonly program: string,
    private readonly settings: readonly string[],
    private readonly folder: string,
    private readonly port: number,
  ) {
    this.url = `redis://127.0.0.1:${port}`;
    this.child = this.spawn();
    process.once('exit', this.onExit);
  }

  static async start(program: string, settings: readonly string[]): Promise<RedisProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'genesis-redis-'));
    const redis = new RedisProcess(program, settings, folder, await freePort());
    await redis.answers();
    return redis;
  }

  readonly restart = async (): Promise<void> => {
    await this.end();
    this.child = this.spawn();
    await this.answers();
  };

  readonly freeze = (): void => void this.child.kill('SIGSTOP');
  readonly thaw = (): void => void this.child.kill('SIGCONT');

  async stop(): Promise<void> {
    process.off('exit', this.onExit);
    await this.end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private spawn(): ChildProcess {
    const own = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder, '--save', ''];
    return spawn(this.program, [...own, ...this.settings], { stdio: 'ignore' });
  }

  private end(): Promise<void> {
    return new Promise((resolve) => {
      this.child.once('exit', () => resolve());
      this.child.kill('SIGKILL');
    });
  }

  private async answers(): Promise<void> {
    for (let tries = 0; !(await hasLoaded(this.port)); tries += 1) {
      if (tries === START_TRIES || this.child.exitCode !== null)
        throw new Error('redis-server does not start');
      await pause(10);
    }
  }
}

/** PING is refused while the data is still being read. */
function hasLoaded(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write('PING\r\n'));
    socket.once('error', () => resolve(false));
    socket.once('data', (reply) => {
      socket.destroy();
      resolve(reply.toString().startsWith('+PONG'));
    });
  });
}

function installed(name: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
