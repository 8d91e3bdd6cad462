import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CoordinatorSettings } from './coordinator.child.js';

/** The script of a coordinator process. It is started many times, so it is bundled first. */
export const COORDINATOR_SCRIPT = join(import.meta.dirname, 'coordinator.child.ts');
/** Timeout for a start, which may take several attempts over a bad network on a busy machine. */
const START_TIMEOUT_MS = 10 * 60_000;
const STOP_TIMEOUT_MS = 5 * 60_000;
const STDERR_TAIL_CHARS = 2000;

/** A coordinator in its own process, which keeps its port across restarts. */
export class CoordinatorProcess {
  private child: ChildProcess | null = null;
  private stderrTail = '';
  /** Set if the process has ended without a request to stop. */
  exitMessage: string | null = null;

  private constructor(
    readonly name: string,
    private readonly script: string,
    private settings: CoordinatorSettings,
  ) {}

  static async start(
    name: string,
    script: string,
    settings: CoordinatorSettings,
  ): Promise<CoordinatorProcess> {
    const coordinator = new CoordinatorProcess(name, script, settings);
    await coordinator.start();
    return coordinator;
  }

  get port(): number {
    return this.settings.port;
  }

  /** Kills the process, as a power cut would, and starts it again on the same port. */
  async restart(): Promise<void> {
    await this.end('SIGKILL');
    await this.start();
  }

  async stop(): Promise<void> {
    const { child } = this;
    if (child === null) return;
    const timeoutController = new AbortController();
    sleep(STOP_TIMEOUT_MS, undefined, { signal: timeoutController.signal }).then(
      () => child.kill('SIGKILL'),
      () => {},
    );
    if (child.connected) child.send('stop');
    await this.end(null);
    timeoutController.abort();
  }

  private async start(): Promise<void> {
    const deadlineMs = performance.now() + START_TIMEOUT_MS;
    while (!(await this.startOnce(deadlineMs))) {
      if (performance.now() < deadlineMs) continue;
      throw new Error(`${this.name} was not ready within ${START_TIMEOUT_MS / 1000} s: ${this.stderrTail}`);
    }
  }

  /** Tries once to start. Returns false if the process ended before it was ready, or the time ran out. */
  private async startOnce(deadlineMs: number): Promise<boolean> {
    const child = fork(this.script, [JSON.stringify(this.settings)], {
      execArgv: [],
      cwd: join(import.meta.dirname, '../..'),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    child.stderr?.on('data', (data) => {
      this.stderrTail = `${this.stderrTail}${data}`.slice(-STDERR_TAIL_CHARS);
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs - performance.now());
    const port = await new Promise<number | null>((resolve) => {
      child.once('message', (message) => resolve(message as number));
      child.once('exit', () => resolve(null));
    });
    clearTimeout(timer);
    if (port === null) return false;
    this.settings = { ...this.settings, port };
    this.child = child;
    child.once('exit', (code, signal) => {
      if (this.child === child)
        this.exitMessage = `${this.name} exited (${code ?? signal}): ${this.stderrTail}`;
    });
    return true;
  }

  private async end(signal: 'SIGKILL' | null): Promise<void> {
    const { child } = this;
    if (child === null) return;
    this.child = null;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    if (signal !== null) child.kill(signal);
    await exited;
  }
}
