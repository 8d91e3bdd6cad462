import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import type { MissingEngine, TestEngine } from '../testing/engine.js';

const START_TRIES_MAX = 1200;
const START_PAUSE_MS = 50;

/** The server of GENESIS_TEST_MYSQL, or a MariaDB of our own on a free port, with nothing in it. */
export async function startMysql(): Promise<TestEngine | MissingEngine> {
  const url = process.env.GENESIS_TEST_MYSQL;
  if (url !== undefined) return { url, stop: async () => {} };
  if (spawnSync('mariadbd', ['--version']).error !== undefined) {
    return { missing: 'mysql: mariadbd is not installed (apt-get install mariadb-server)' };
  }
  const server = new OwnServer(await freePort());
  await server.start();
  return server;
}

class OwnServer implements TestEngine {
  private readonly folder = mkdtempSync(join(tmpdir(), 'genesis-mariadb-'));
  private readonly data = join(this.folder, 'data');
  private child: ChildProcess | null = null;
  private readonly endWithUs = () => this.end();

  constructor(private readonly port: number) {
    const install = [
      '--no-defaults',
      `--datadir=${this.data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      ...AS_ROOT,
    ];
    const made = spawnSync('mariadb-install-db', install, { encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`mariadb-install-db failed: ${made.stdout}${made.stderr}`);
    process.on('exit', this.endWithUs);
  }

  get url(): string {
    return `mysql://root@127.0.0.1:${this.port}/genesis_fleet`;
  }

  readonly restart = async (): Promise<void> => {
    await this.kill();
    await this.start();
  };

  readonly freeze = (): void => void this.child?.kill('SIGSTOP');
  readonly thaw = (): void => void this.child?.kill('SIGCONT');

  async start(): Promise<void> {
    const settings = [
      '--no-defaults',
      `--datadir=${this.data}`,
      // A server that starts removes what it takes for leftovers: with a shared one, the tables of its neighbours.
      `--tmpdir=${this.folder}`,
      `--port=${this.port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(this.folder, 'socket')}`,
      `--pid-file=${join(this.folder, 'pid')}`,
      '--innodb-buffer-pool-size=256M',
      ...AS_ROOT,
    ];
    this.child = spawn('mariadbd', settings, { stdio: 'ignore' });
    for (let tries = 0; !(await this.answers()); tries += 1) {
      if (tries === START_TRIES_MAX) throw new Error('mariadbd does not answer.');
      await sleep(START_PAUSE_MS);
    }
  }

  async stop(): Promise<void> {
    await this.kill();
    this.end();
    process.off('exit', this.endWithUs);
  }

  private async kill(): Promise<void> {
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  private end(): void {
    this.child?.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async answers(): Promise<boolean> {
    try {
      const connection = await createConnection({ host: '127.0.0.1', port: this.port, user: 'root' });
      await connection.end();
      return true;
    } catch {
      return false;
    }
  }
}

const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : [];

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
