import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { selfCommand } from '../self.js';
import { DEMO_PROJECT } from './plan.js';

/** Starts this program again. Its stderr goes to a file, so that it can still report errors after this process ends. */
async function startSelf(
  args: readonly string[],
  stderrPath: string,
  env: NodeJS.ProcessEnv = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): Promise<ChildProcess> {
  const [program, ...words] = selfCommand();
  const stderr = await open(stderrPath, 'a');
  try {
    const stdio = [stdin, 'pipe', stderr.fd] as const;
    return spawn(program, [...words, ...args], { env: { ...process.env, ...env }, stdio: [...stdio] });
  } finally {
    await stderr.close();
  }
}

export interface DemoProcess {
  readonly name: string;
  readonly process: ChildProcess;
}

export interface DemoServer extends DemoProcess {
  readonly url: string;
  readonly port: number;
}

/** Starts the coordinator on the embedded log, in a process of its own that may outlive this process. */
export async function startDemoServer(folder: string, port = 0): Promise<DemoServer> {
  const stderrPath = join(folder, 'coordinator.stderr');
  const args = ['up', '--json', '--port', String(port), '--store', `file:${logFolder(folder)}`];
  const limit = ['--limit', 'min_lease_duration_seconds=1'];
  const child = await startSelf([...args, ...limit], stderrPath);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const ready = once(lines, 'line') as Promise<[string]>;
  const ended = once(child, 'exit').then(async () => {
    throw new Error(`The demo coordinator did not start: ${await readFile(stderrPath, 'utf8')}`);
  });
  ended.catch(() => {});
  const [line] = await Promise.race([ready, ended]);
  const { url, port: boundPort } = JSON.parse(line) as { url: string; port: number };
  return { name: 'coordinator', process: child, url, port: boundPort };
}

export const logFolder = (folder: string): string => join(folder, 'log');

const AGENT_NAMES = ['ada', 'ben', 'cleo', 'dan', 'eve', 'finn'];
export const agentName = (index: number): string => AGENT_NAMES[index] ?? `agent-${index + 1}`;

/** Starts one agent, with its outbox in the folder. A directed agent finishes a task only after a line on its input. */
export async function startDemoAgent(
  name: string,
  url: string,
  folder: string,
  isDirected = false,
): Promise<DemoProcess> {
  const env = {
    GENESIS_URL: url,
    GENESIS_PROJECT: DEMO_PROJECT,
    GENESIS_TENANT: 'default',
    GENESIS_TOKEN: '',
    GENESIS_AGENT: name,
    GENESIS_SESSION: `demo-${name}`,
    GENESIS_OUTBOX: join(folder, 'outbox', name),
  };
  const stderrPath = join(folder, `${name}.stderr`);
  const child = await startSelf(['demo-agent'], stderrPath, env, isDirected ? 'pipe' : 'ignore');
  // Ignore EPIPE from an agent that has died.
  child.stdin?.on('error', () => {});
  return { name, process: child };
}

/** Sends a signal to a process and waits for its exit. SIGKILL also ends frozen processes. */
export async function endProcess(
  { process }: DemoProcess,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const exited = once(process, 'exit');
  process.kill(signal);
  await exited;
}
