import { userInfo } from 'node:os';
import type { Readable, Writable } from 'node:stream';

/** What a command has of the world around it, so that a test can be the terminal. */
export interface Io {
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

export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

const COLUMNS_DEFAULT = 100;

export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  return {
    stdin,
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    columns: stdout.isTTY === true ? stdout.columns || COLUMNS_DEFAULT : null,
    is_watched: stderr.isTTY === true,
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
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'agent';
  }
}
