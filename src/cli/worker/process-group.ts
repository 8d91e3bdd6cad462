import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Tail } from './tail.js';

export interface GroupOptions {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Aborts when the program must stop. */
  readonly signal: AbortSignal;
  /** What it is told then. */
  readonly stopWith: () => NodeJS.Signals;
}

export interface GroupEnd {
  /** As a shell has it: 128 and the signal's number where a signal ended it. */
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const TAIL_BYTES = 16 * 1024;
const GRACE_MS = 3000;
const LOOK_EVERY_MS = 20;
const HAS_GROUPS = process.platform !== 'win32';

/**
 * Runs a program in a process group of its own, and resolves when nothing of it is left: what it started and left
 * behind is ended with it, since work that goes on after its claim is nobody's.
 */
export async function runGroup(options: GroupOptions): Promise<GroupEnd> {
  const { command, env, cwd, signal } = options;
  const [file = '', ...args] = command;
  const child = spawn(file, args, { env, cwd, detached: HAS_GROUPS, stdio: ['ignore', 'pipe', 'pipe'] });
  const stdout = captured(child.stdout, options.stdout);
  const stderr = captured(child.stderr, options.stderr);
  const ended = endOf(child);
  const stop = (): void => void endGroup(child, options.stopWith(), ended);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const exit_code = await ended;
    await endGroup(child, 'SIGTERM', ended);
    return { exit_code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    signal.removeEventListener('abort', stop);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

function captured(from: NodeJS.ReadableStream, to: Writable): Tail {
  const tail = new Tail(TAIL_BYTES);
  from.on('data', (chunk: Buffer) => {
    tail.add(chunk);
    to.write(chunk);
  });
  return tail;
}

/** The program's own end, with all it had written by then read; what it started may live on. */
function endOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      const exit_code = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
      // What is in the pipes is read before; whoever still holds them open is not waited for.
      const drained = new Promise<void>((closed) => child.once('close', () => closed()));
      void Promise.race([drained, sleep(LOOK_EVERY_MS * 5)]).then(() => resolve(exit_code));
    });
  });
}

/** Tells the whole group to stop, and kills what has not stopped when its time is up. */
async function endGroup(child: ChildProcess, signal: NodeJS.Signals, ended: Promise<unknown>): Promise<void> {
  tell(child, signal);
  const end_ms = performance.now() + GRACE_MS;
  while (isAlive(child) && performance.now() < end_ms) await sleep(LOOK_EVERY_MS);
  if (isAlive(child)) tell(child, 'SIGKILL');
  await ended.catch(() => {});
}

const isAlive = (child: ChildProcess): boolean => tell(child, 0);

/** False where there is nobody left to tell. */
function tell(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false;
  if (!HAS_GROUPS) return child.exitCode === null && child.signalCode === null && child.kill(signal);
  try {
    return process.kill(-child.pid, signal);
  } catch {
    return false;
  }
}
