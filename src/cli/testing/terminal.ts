import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import type { ExitCode } from '../exit.js';
import { type Io, type RawIo, type StopSignal, sanitizedIo } from '../io.js';
import { run } from '../program.js';

export interface CommandResult {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

export interface TerminalOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** Standard input is a terminal. */
  readonly isStdinTty?: boolean;
  /** If set, standard output is a terminal of this width. */
  readonly columns?: number;
  /** Standard error is a terminal. */
  readonly isStderrTty?: boolean;
}

/** A running command: its output so far, and how to stop it. */
interface RunningCommand {
  readonly io: Io;
  readonly ended: Promise<CommandResult>;
  stop(signal: StopSignal): void;
  /** Standard output so far. */
  text(): string;
  /** Resolves when the text has been written to standard output. */
  waitForOutput(text: string | RegExp): Promise<string>;
  /** Resolves when the text has been written to standard error. */
  waitForErrorOutput(text: string | RegExp): Promise<string>;
}

/** An audit key that exists before the first test, so that no test sees the notice that a key was created. */
const TEST_AUDIT_KEY = join(tmpdir(), `genesis-test-audit-key-${process.pid}.pem`);
writeFileSync(
  TEST_AUDIT_KEY,
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
  { mode: 0o600 },
);

/** Runs a command line in this process, with a simulated terminal or pipes. */
export function startCommand(terminal: TerminalOptions, ...argv: string[]): RunningCommand {
  const out = new CapturedOutput();
  const err = new CapturedOutput();
  const listeners = new Set<(signal: StopSignal) => void>();
  const stdin =
    terminal.stdin === undefined ? new PassThrough().end() : Readable.from([Buffer.from(terminal.stdin)]);
  const raw: RawIo = {
    stdin: terminal.isStdinTty === true ? Object.assign(stdin, { isTTY: true }) : stdin,
    stdout: out,
    stderr: err,
    env: { GENESIS_AUDIT_KEY: TEST_AUDIT_KEY, ...terminal.env },
    cwd: terminal.cwd,
    columns: terminal.columns ?? null,
    stderr_is_terminal: terminal.isStderrTty ?? false,
    restartWith: null,
    user: 'tester',
    onStop(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    io: sanitizedIo(raw),
    ended: run(argv, raw).then((code) => ({ code, out: out.text, err: err.text })),
    stop: (signal) => {
      for (const listener of listeners) listener(signal);
    },
    text: () => out.text,
    waitForOutput: (text) => out.waitFor(text),
    waitForErrorOutput: (text) => err.waitFor(text),
  };
}

export const runGen = (terminal: TerminalOptions, ...argv: string[]): Promise<CommandResult> =>
  startCommand(terminal, ...argv).ended;

class CapturedOutput extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8');
    this.emit('written');
    done();
  }

  async waitFor(text: string | RegExp): Promise<string> {
    while (this.text.search(text) === -1) await new Promise((resolve) => this.once('written', resolve));
    return this.text;
  }
}
