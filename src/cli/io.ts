import { userInfo } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { SanitizedOutput } from './output/sanitized-output.js';

/** The world around the program, so that a test can be the terminal. */
export interface RawIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Of standard output, where it is a terminal; null: a pipe or a file, which has none. */
  readonly columns: number | null;
  /** Whether somebody watches standard error. */
  readonly is_watched: boolean;
  readonly user: string;
  /** Calls back when the person or the system asks to stop; returns how to stop listening. */
  onStop(listener: (signal: StopSignal) => void): () => void;
}

/** What a command has of it. Commands have no other way to write, so none can forget to make text plain. */
export interface Io extends Omit<RawIo, 'stdout' | 'stderr'> {
  readonly stdout: SanitizedOutput;
  readonly stderr: SanitizedOutput;
}

export const sanitizedIo = (raw: RawIo): Io => ({
  ...raw,
  stdout: new SanitizedOutput(raw.stdout),
  stderr: new SanitizedOutput(raw.stderr),
});

export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

const COLUMNS_DEFAULT = 100;

/** The process's own streams: nothing else in src touches them. */
export function processIo(): RawIo {
  const { stdin, env } = process;
  // Whoever reads our output may have read enough: that is no fault of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  // The reader of standard error may close it: the command goes on.
  process.stderr.on('error', () => {});
  // What Node prints of a fault by itself would reach the terminal as it is.
  process.on('uncaughtException', (error: unknown) => {
    const errorText = error instanceof Error ? (error.stack ?? error.message) : String(error);
    new SanitizedOutput(process.stderr).write(`${errorText}\n`);
    process.exit(1);
  });
  return {
    stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env,
    cwd: process.cwd(),
    columns: process.stdout.isTTY === true ? process.stdout.columns || COLUMNS_DEFAULT : null,
    is_watched: process.stderr.isTTY === true,
    user: userName(),
    onStop(listener) {
      for (const signal of STOP_SIGNALS) process.on(signal, listener);
      return () => {
        for (const signal of STOP_SIGNALS) process.off(signal, listener);
      };
    },
  };
}

/** A container may run under a number that no user has. */
const STDERR_DRAIN_CHECK_MS = 2000;

/** Node ends a process when standard error was read, which may never happen: from here on it does not wait for that. */
export function exitDespiteUnreadStderr(): void {
  setInterval(() => {
    const { stdout, stderr } = process;
    if (stderr.writableLength > 0 && stdout.writableLength === 0) process.exit();
  }, STDERR_DRAIN_CHECK_MS).unref();
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'agent';
  }
}
