import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { CheckLimits } from './check-execution.js';
import { OutputTail } from './output-tail.js';
import { treeUsage } from './process-tree.js';

/** Which limit ended a command. */
type StopReason = 'timeout' | 'output' | 'memory' | 'processes';

interface CommandSpec {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the program can read from file descriptor 4; null: the program has no such descriptor. */
  readonly input?: Uint8Array | null;
  readonly limits: CheckLimits;
  readonly signal: AbortSignal;
}

export interface CommandEnd {
  /** Null if a signal ended the command, or if the command could not be started. */
  readonly exit_code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stopped: StopReason | null;
  readonly spawn_error: string | null;
  readonly duration_ms: number;
  /** The end of both output streams. */
  readonly output: Uint8Array;
  readonly output_total_bytes: number;
  /** What was written to file descriptor 3. */
  readonly channel: Buffer;
}

/** A command is stopped when it prints this many times the output that is kept. */
export const OUTPUT_STOP_FACTOR = 64;
export const REPORT_BYTES_MAX = 8 * 1024 * 1024;
const CHANNEL_BYTES_MAX = REPORT_BYTES_MAX + 4096;
const USAGE_INTERVAL_MS = 200;
/** The wait for output after the process has ended. Only a process outside its group can keep the streams open. */
const CLOSE_GRACE_MS = 2000;

/** Runs a command in its own process group until it ends or reaches a limit. Rejects only if the signal is aborted. */
export async function runCommandProcess(spec: CommandSpec): Promise<CommandEnd> {
  spec.signal.throwIfAborted();
  const end = await new CommandProcess(spec).waitForEnd();
  spec.signal.throwIfAborted();
  return end;
}

class CommandProcess {
  private readonly startedAt = performance.now();
  private readonly child: ChildProcess;
  private readonly tail: OutputTail;
  private readonly channel: Buffer[] = [];
  private channelBytes = 0;
  private stopped: StopReason | null = null;
  private spawnError: string | null = null;

  constructor(private readonly spec: CommandSpec) {
    const { file, args, cwd, env, limits, input = null } = spec;
    this.tail = new OutputTail(limits.output_bytes);
    const stdio: StdioOptions = [
      'ignore',
      'pipe',
      'pipe',
      'pipe',
      ...(input === null ? [] : ['pipe' as const]),
    ];
    this.child = spawn(file, [...args], { cwd, env: { ...env }, stdio, detached: true });
    const writable = this.child.stdio[4] as Writable | null | undefined;
    // The write fails if the program could not be started, which `waitForClose` reports.
    writable?.on('error', () => {});
    writable?.end(input);
  }

  async waitForEnd(): Promise<CommandEnd> {
    const { signal, limits } = this.spec;
    const timer = setTimeout(() => this.stop('timeout'), limits.timeout_ms);
    const usageTimer = setInterval(() => this.checkUsage(), USAGE_INTERVAL_MS);
    const onAbort = () => this.kill();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.readStreams();
      const [exitCode, exitSignal] = await this.waitForClose();
      return {
        exit_code: exitCode,
        signal: exitSignal,
        stopped: this.stopped,
        spawn_error: this.spawnError,
        duration_ms: Math.round(performance.now() - this.startedAt),
        output: this.tail.bytes(),
        output_total_bytes: this.tail.total_bytes,
        channel: Buffer.concat(this.channel),
      };
    } finally {
      clearTimeout(timer);
      clearInterval(usageTimer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  private readStreams(): void {
    const outputMax = this.spec.limits.output_bytes * OUTPUT_STOP_FACTOR;
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.tail.add(chunk);
        if (this.tail.total_bytes > outputMax) this.stop('output');
      });
      stream?.on('error', () => {});
    }
    const channel = this.child.stdio[3] as Readable | null | undefined;
    channel?.on('data', (chunk: Buffer) => {
      this.channelBytes += chunk.length;
      if (this.channelBytes > CHANNEL_BYTES_MAX) this.stop('output');
      else this.channel.push(chunk);
    });
    channel?.on('error', () => {});
  }

  private waitForClose(): Promise<[number | null, NodeJS.Signals | null]> {
    const { child } = this;
    return new Promise((resolve) => {
      child.once('error', (error) => {
        this.spawnError = error.message;
        resolve([null, null]);
      });
      child.once('exit', () => {
        this.kill();
        const grace = setTimeout(() => {
          for (const stream of child.stdio) stream?.destroy();
        }, CLOSE_GRACE_MS);
        child.once('close', () => clearTimeout(grace));
      });
      child.once('close', (code, signal) => resolve([code, signal]));
    });
  }

  private checkUsage(): void {
    const usage = this.child.pid === undefined ? null : treeUsage(this.child.pid);
    if (usage === null) return;
    const { memory_bytes, processes } = this.spec.limits;
    if (usage.memory_bytes > memory_bytes) this.stop('memory');
    else if (usage.processes >= processes) this.stop('processes');
  }

  private stop(reason: StopReason): void {
    this.stopped ??= reason;
    this.kill();
  }

  /** Ends the whole group. When the sandbox's first process ends, everything in its process namespace ends. */
  private kill(): void {
    if (this.child.pid === undefined) return;
    try {
      process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // The group has ended.
    }
  }
}
