import { userInfo } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { SanitizedOutput } from './output/sanitized-output.js';

/** Everything the program uses of its process, so that tests can replace it. */
export interface RawIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Width of standard output; null if it is not a terminal. */
  readonly columns: number | null;
  /** Whether standard error is a terminal. */
  readonly stderr_is_terminal: boolean;
  readonly user: string;
  /** Calls back on a stop signal, and when a parent with a channel to this process has ended; returns a function that removes the listener. */
  onStop(listener: (signal: StopSignal) => void): () => void;
  /** Restarts the program in the same process with this flag of Node, unless it runs with the flag. Null if Node cannot do this. */
  readonly restartWith: ((nodeFlag: string) => void) | null;
}

/** What commands get. Its output streams sanitize all text, so no command can write raw text. */
export interface Io extends Omit<RawIo, 'stdout' | 'stderr'> {
  readonly stdout: SanitizedOutput;
  readonly stderr: SanitizedOutput;
}

export const sanitizedIo = (raw: RawIo): Io => ({
  ...raw,
  stdout: new SanitizedOutput(raw.stdout),
  stderr: new SanitizedOutput(raw.stderr),
});

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

const COLUMNS_DEFAULT = 100;

/** The process's own streams. Nothing else in src uses them. */
export function processIo(): RawIo {
  const { stdin, env } = process;
  // A reader that closes the pipe early is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    // A process with a channel to its parent does not end here: when the parent ends, `onStop` stops it in order.
    if (process.connected === undefined) process.exit(0);
  });
  // Continue if the reader of standard error closes it.
  process.stderr.on('error', () => {});
  // Node would print warnings and errors unsanitized to the terminal, and they may contain text of a server.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) =>
    new SanitizedOutput(process.stderr).write(`${name}: ${message}\n`),
  );
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
    stderr_is_terminal: process.stderr.isTTY === true,
    user: userName(),
    onStop(listener) {
      // The parent that started this process with a channel, such as gen fleet, has ended.
      const onDisconnect = (): void => listener('SIGTERM');
      for (const signal of STOP_SIGNALS) process.on(signal, listener);
      process.on('disconnect', onDisconnect);
      if (process.connected === false) setImmediate(onDisconnect);
      return () => {
        for (const signal of STOP_SIGNALS) process.off(signal, listener);
        process.off('disconnect', onDisconnect);
      };
    },
    restartWith: restartFunction(),
  };
}

/** Restarts by replacing the process, which keeps its id and standard streams. Null before Node 22.15, which cannot do this. */
function restartFunction(): RawIo['restartWith'] {
  const { execve, execPath, execArgv, argv, env } = process as NodeJS.Process & {
    execve?: (file: string, args: readonly string[], env: NodeJS.ProcessEnv) => never;
  };
  if (execve === undefined) return null;
  return (nodeFlag) => {
    const [name = nodeFlag] = nodeFlag.split('=');
    if ([...execArgv, env.NODE_OPTIONS ?? ''].some((flags) => flags.includes(name))) return;
    execve(execPath, [execPath, nodeFlag, ...execArgv, ...argv.slice(1)], env);
  };
}

const STDERR_DRAIN_CHECK_MS = 2000;

/**
 * To be called when all work is done. Lets the process end even if standard error is never read; Node otherwise waits until
 * its buffer is drained.
 */
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
    // A container may run under a uid that has no user entry.
    return 'agent';
  }
}
