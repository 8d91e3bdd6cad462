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
import { isProblem, type Problem } from '../replies.js';
import { type FaultyProxy, startProxy } from './proxy.js';

export const PROJECT_KEY = { tenant_id: 'default', project_id: 'shop' };

/** A real server with a wire in front of it that can fail, and clients on either side of the wire. */
export interface ClientHarness {
  readonly server: RunningServer;
  readonly proxy: FaultyProxy;
  readonly outbox: string;
  /** Through the wire that fails. */
  readonly genesis: Genesis;
  /** Beside it. */
  readonly direct: Genesis;
  client(options?: GenesisOptions): Genesis;
}

/** A file of the program as it is built. */
export const builtFile = (path: string): string => join(inject('built'), 'dist', path);

/** Time that nobody is meant to run out of: a machine may be as slow as it likes. */
const TEST_TIMEOUT_SECONDS = 600;

/**
 * The client is the built one unless another is given: from its sources, each thread that renews would read TypeScript
 * anew, which takes longer than most of what is done with it.
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
  const proxy = await startProxy(server);
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

/** A plan of one track per letter, its tasks independent of each other. */
export function planOf(tracks: Readonly<Record<string, number>>): string {
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

export function expectNoProblem<T>(reply: T | Problem): T {
  if (isProblem(reply))
    throw new Error(`${reply.code}: ${reply.detail} ${JSON.stringify(reply.faults ?? '')}`);
  return reply;
}

export interface ChildProgram {
  readonly process: ChildProcess;
  /** Writes this to its standard input. */
  write(text: string): void;
  /** The next line it says; null when it is gone. */
  nextLine(): Promise<string | null>;
  kill(): Promise<void>;
  /** All that it wrote to its stderr, once it has ended. */
  stderrText(): Promise<string>;
}

/** A program beside this file, or by its whole path. */
export function startChild(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProgram {
  const file = resolve(import.meta.dirname, name);
  const reader = file.endsWith('.ts') ? ['--import', 'tsx'] : [];
  const child = spawn(process.execPath, [...reader, file, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  // Who has ended hears nothing more.
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
