import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { HAS_GROUPS, signalGroup } from './signal-group.js';

export interface GroupOptions {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** What the program reads from stdin; absent: nothing. */
  readonly stdin?: string;
  /** Where the program's output is forwarded to. */
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** How much of the end of each output is kept. */
  readonly tailBytes?: number;
  /** Aborts when the program must stop. */
  readonly signal: AbortSignal;
  /** The signal to send on abort. */
  readonly stopWith: () => NodeJS.Signals;
  /** Called with the id of the process group as soon as the program runs. */
  readonly onStart?: (group: number) => void;
}

export interface GroupExit {
  /** By the shell's convention: 128 plus the signal number if a signal ended it. */
  readonly exit_code: number;
  /** The end of the program's output. */
  readonly stdout: string;
  readonly stderr: string;
}

const TAIL_BYTES = 16 * 1024;
/** Chunks that are kept before they are merged: merging copies the whole tail. */
const CHUNKS_MAX = 256;
const GRACE_MS = 3000;
const POLL_INTERVAL_MS = 20;

/**
 * Runs a program in its own process group, and resolves when the whole group has ended. Processes that the program
 * leaves behind are stopped: they must not continue without the claim.
 */
export async function runProcessGroup(options: GroupOptions): Promise<GroupExit> {
  const { command, env, cwd, stdin, signal, tailBytes = TAIL_BYTES } = options;
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    env,
    cwd,
    detached: HAS_GROUPS,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable | null, Readable, Readable>;
  if (child.pid !== undefined) options.onStart?.(child.pid);
  // A program may ignore its input; the broken pipe is then expected.
  child.stdin?.on('error', () => {});
  child.stdin?.end(stdin);
  const stdout = captureTail(child.stdout, tailBytes, options.stdout);
  const stderr = captureTail(child.stderr, tailBytes, options.stderr);
  const exited = exitOf(child);
  const stop = (): void => void stopGroup(child, options.stopWith(), exited);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const exit_code = await exited;
    await stopGroup(child, 'SIGTERM', exited);
    return { exit_code, stdout: stdout(), stderr: stderr() };
  } finally {
    signal.removeEventListener('abort', stop);
    child.stdin?.destroy();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Passes the output on. Returns a function that reads the end of the output. */
function captureTail(from: NodeJS.ReadableStream, bytesMax: number, to?: Writable): () => string {
  let tail = Buffer.alloc(0);
  let recent: Buffer[] = [];
  let recentBytes = 0;
  const mergeTail = (): void => {
    tail = Buffer.concat([tail, ...recent]).subarray(-bytesMax);
    recent = [];
    recentBytes = 0;
  };
  from.on('data', (chunk: Buffer) => {
    recent.push(chunk);
    recentBytes += chunk.length;
    if (recentBytes >= bytesMax || recent.length >= CHUNKS_MAX) mergeTail();
    // A reader that does not keep up slows the program down, instead of filling the memory.
    if (to === undefined || to.write(chunk)) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
  return () => {
    mergeTail();
    return tail.toString('utf8');
  };
}

/** Resolves with the program's own exit code, after its output was read or a short wait. Its children may still run. */
function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
      // Read what is in the pipes, but do not wait for children that keep them open.
      const drained = new Promise<void>((closed) => child.once('close', () => closed()));
      void Promise.race([drained, sleep(POLL_INTERVAL_MS * 5)]).then(() => resolve(exitCode));
    });
  });
}

/** Signals the whole group, and kills what is left after the grace period. */
async function stopGroup(
  child: ChildProcess,
  signal: NodeJS.Signals,
  exited: Promise<unknown>,
): Promise<void> {
  signalGroupOf(child, signal);
  await waitForEnd(child);
  // A killed process ends a moment later. It must not write any more when this function resolves.
  if (signalGroupOf(child, 'SIGKILL')) await waitForEnd(child);
  await exited.catch(() => {});
}

/** Waits until no process is left, or the grace period is over. */
async function waitForEnd(child: ChildProcess): Promise<void> {
  const deadlineMs = performance.now() + GRACE_MS;
  while (isAlive(child) && performance.now() < deadlineMs) await sleep(POLL_INTERVAL_MS);
}

const isAlive = (child: ChildProcess): boolean => signalGroupOf(child, 0);

/** Returns false if no process is left. Without groups, an ended process is not signalled: its pid may be reused. */
function signalGroupOf(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  const isOver = child.exitCode !== null || child.signalCode !== null;
  return (HAS_GROUPS || !isOver) && signalGroup(child.pid, signal);
}
