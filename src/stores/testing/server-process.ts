import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { processTable } from './process-table.js';

/** Ends the wait for a hanging server: a busy machine may take minutes for what usually takes a second. */
const START_MAX_MS = 10 * 60_000;
const START_PAUSE_MS = 50;
const STOP_PAUSE_MS = 2;

export interface ServerSpec {
  readonly name: string;
  command(location: ServerLocation): { readonly program: string; readonly args: readonly string[] };
  isReady(port: number): Promise<boolean>;
}

export interface ServerLocation {
  readonly port: number;
  /** Exclusive to the server, and removed with it. */
  readonly folder: string;
}

export const newServerLocation = async (name: string, parent = tmpdir()): Promise<ServerLocation> => ({
  port: await freePort(),
  folder: await mkdtemp(join(parent, `genesis-${name}-`)),
});

/** A server that a test started. It ends with the process that started it, however that ends. */
export class ServerProcess {
  private child: ChildProcess | null = null;
  private watchdog: ChildProcess | null = null;

  private constructor(
    private readonly spec: ServerSpec,
    readonly location: ServerLocation,
  ) {}

  static async start(spec: ServerSpec, location: ServerLocation): Promise<ServerProcess> {
    const server = new ServerProcess(spec, location);
    await server.boot();
    return server;
  }

  /** Kills the server as a power cut would, and starts it again. */
  readonly restart = async (): Promise<void> => {
    await this.halt();
    await this.boot();
  };

  readonly freeze = (): Promise<void> => stopProcess(this.child?.pid as number);
  readonly thaw = (): void => void this.child?.kill('SIGCONT');

  readonly stop = async (): Promise<void> => {
    await this.halt();
    rmSync(this.location.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };

  readonly boot = async (): Promise<void> => {
    const { program, args } = this.spec.command(this.location);
    const child = spawn(program, args, { stdio: 'ignore' });
    this.child = child;
    this.watchdog = killOnExit(child.pid as number, this.location.folder);
    const giveUpMs = performance.now() + START_MAX_MS;
    while (!(await this.spec.isReady(this.location.port))) {
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      if (hasEnded || performance.now() > giveUpMs) {
        await this.stop();
        throw new Error(`${this.spec.name} does not start.`);
      }
      await pause(START_PAUSE_MS);
    }
  };

  readonly halt = async (): Promise<void> => {
    const { child } = this;
    this.watchdog?.kill('SIGKILL');
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
}

/** Resolves when the process no longer runs: until the signal has reached all its threads, one of them may still reply. */
export async function stopProcess(pid: number): Promise<void> {
  while (isRunning(pid)) {
    process.kill(pid, 'SIGSTOP');
    await pause(STOP_PAUSE_MS);
  }
}

/** Whether a process is neither stopped nor dead. */
function isRunning(pid: number): boolean {
  const row = processTable().find((row) => row.pid === pid);
  return row !== undefined && !/[TtZX]/.test(row.state);
}

/** A shell that waits for our end of its pipe to close, which happens even if this process is killed with SIGKILL. */
function killOnExit(pid: number, folder: string): ChildProcess {
  const script = 'cat >/dev/null; kill -9 "$0"; rm -rf "$1"';
  const watchdog = spawn('sh', ['-c', script, String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.unref();
  (watchdog.stdin as unknown as { unref(): void }).unref();
  return watchdog;
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
