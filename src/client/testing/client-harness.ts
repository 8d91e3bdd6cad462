import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { inject, onTestFinished } from 'vitest';
import { type RunningServer, startServer } from '../../server/server.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import type { Genesis, GenesisOptions } from '../genesis.js';
import { type ApiProblem, isProblem } from '../replies.js';
import { type FaultyProxy, startFaultyProxy } from './proxy.js';

export const PROJECT_KEY = { tenant_id: 'default', project_id: 'shop' };

/** A real server behind a faulty proxy, with clients that connect through the proxy or directly. */
interface ClientHarness {
  readonly server: RunningServer;
  readonly proxy: FaultyProxy;
  readonly outbox: string;
  /** Connects through the proxy. */
  readonly genesis: Genesis;
  /** Connects to the server directly. */
  readonly direct: Genesis;
  client(options?: GenesisOptions): Genesis;
}

/** A file of the built package. */
export const builtFile = (path: string): string => join(inject('built'), 'dist', path);

/** Long enough for any machine, so that no test depends on speed. */
const TEST_TIMEOUT_SECONDS = 600;

/**
 * Uses the built client by default: from source, every renewal thread
 * would compile TypeScript again, which takes longer than most tests.
 */
export async function openClientHarness(
  plan: string,
  limits: Record<string, number> = {},
  Client?: typeof Genesis,
): Promise<ClientHarness> {
  const ClientClass =
    Client ?? ((await import(builtFile('client/genesis.js'))) as { Genesis: typeof Genesis }).Genesis;
  const outbox = await tempFolder();
  const server = await startServer({
    store: openMemoryStore(),
    port: 0,
    limits: { min_lease_duration_seconds: 1, ...limits },
  });
  const proxy = await startFaultyProxy(server);
  onTestFinished(async () => {
    await proxy.close();
    await server.stop();
  });
  const client = (options: GenesisOptions = {}) =>
    new ClientClass({
      url: proxy.url,
      project: PROJECT_KEY.project_id,
      outbox,
      timeout_seconds: TEST_TIMEOUT_SECONDS,
      ...options,
      retry: { within_seconds: TEST_TIMEOUT_SECONDS, ...options.retry },
    });
  const direct = client({ url: server.url });
  expectNoProblem(await direct.putPlan(plan));
  return { server, proxy, outbox, genesis: client(), direct, client };
}

export async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'genesis-client-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A plan with one track per letter and independent tasks. */
export function planTextOf(tracks: Readonly<Record<string, number>>): string {
  const lines = ['project: shop', 'tracks:'];
  for (const [track, count] of Object.entries(tracks)) {
    lines.push(`  ${track}:`);
    for (let n = 1; n <= count; n++) {
      const id = `${track}-${String(n).padStart(3, '0')}-part`;
      lines.push(`    - id: ${id}`, `      description: Part ${n}`, '      depends_on: []');
    }
  }
  return lines.join('\n');
}

export function expectNoProblem<T>(reply: T | ApiProblem): T {
  if (isProblem(reply))
    throw new Error(`${reply.code}: ${reply.detail} ${JSON.stringify(reply.faults ?? '')}`);
  return reply;
}

interface ChildProgram {
  readonly process: ChildProcess;
  /** Writes to the program's standard input. */
  write(text: string): void;
  /** The next line of the program's standard output; null after the program has ended. */
  nextLine(): Promise<string | null>;
  kill(): Promise<void>;
  /** Everything the program wrote to standard error, once it has ended. */
  stderrText(): Promise<string>;
}

/** Starts a program beside this file, or by its absolute path. */
export function startChild(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProgram {
  const file = resolve(import.meta.dirname, name);
  const loaderArgs = file.endsWith('.ts') ? ['--import', 'tsx'] : [];
  const child = spawn(process.execPath, [...loaderArgs, file, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  // Writing to an ended process fails; ignore it.
  child.stdin.on('error', () => {});
  let stderrText = '';
  child.stderr.on('data', (chunk) => {
    stderrText += chunk;
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  return {
    process: child,
    write: (text) => void child.stdin.write(text),
    nextLine: async () => {
      const next = await lines.next();
      return next.done === true ? null : next.value;
    },
    kill,
    stderrText: async () => {
      await exited;
      return stderrText;
    },
  };
}
