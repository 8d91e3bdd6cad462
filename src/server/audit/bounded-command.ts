import { type ChildProcess, spawn } from 'node:child_process';

const COMMAND_MS_MAX = 10_000;
const OUTPUT_BYTES_MAX = 4096;
const HAS_PROCESS_GROUPS = process.platform !== 'win32';

interface BoundedCommand {
  /** Run by the shell: `sh -c`, on Windows `cmd /c`. */
  readonly line: string;
  readonly cwd: string;
  /** Standard input. */
  readonly input: string;
  readonly timeout_ms?: number;
}

/**
 * Runs a command in its own process group and resolves with its standard output. Rejects if the command fails, takes too
 * long or prints too much. No process of the group is left when the promise settles.
 */
export function runBoundedCommand({
  line,
  cwd,
  input,
  timeout_ms = COMMAND_MS_MAX,
}: BoundedCommand): Promise<string> {
  const child = spawn(line, { shell: true, cwd, detached: HAS_PROCESS_GROUPS, windowsHide: true });
  return new Promise<string>((resolve, reject) => {
    // Without free file descriptors, spawn creates no process and no pipes, and only emits this event.
    child.once('error', ({ message }) => reject(new Error(`it cannot be started (${message})`)));
    if (child.pid === undefined) return;
    const fail = (why: string): void => {
      stop();
      reject(new Error(why));
    };
    const timer = setTimeout(() => fail(`it did not end within ${timeout_ms / 1000} seconds`), timeout_ms);
    const stop = (): void => {
      clearTimeout(timer);
      killGroup(child);
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const output = collectOutput(child.stdout, () => {
      fail(`it printed more than ${OUTPUT_BYTES_MAX} bytes`);
      return Buffer.alloc(0);
    });
    // Only the end of standard error is kept, because it states the reason.
    const messages = collectOutput(child.stderr, (text) => text.subarray(-OUTPUT_BYTES_MAX));
    // A child process that outlives the program would keep the pipes open.
    child.once('exit', () => killGroup(child));
    child.once('close', (code, signal) => {
      stop();
      if (code === 0) return resolve(output());
      const lastMessage = lastLine(messages());
      reject(
        new Error(
          `it ended with ${signal ?? `code ${code}`}${lastMessage === '' ? '' : ` and said: ${lastMessage}`}`,
        ),
      );
    });
    // A program that does not read its input closes the pipe.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** Collects the output of a stream. When it exceeds the limit, `onExcess` returns the bytes to keep. */
function collectOutput(stream: NodeJS.ReadableStream, onExcess: (bytes: Buffer) => Buffer): () => string {
  let bytes = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    const all = Buffer.concat([bytes, chunk]);
    bytes = Buffer.from(all.length > OUTPUT_BYTES_MAX ? onExcess(all) : all);
  });
  return () => bytes.toString('utf8');
}

const LINE_LENGTH_MAX = 300;
const lastLine = (text: string): string =>
  (text.trim().split(/\r?\n/).at(-1) ?? '').replace(/\p{Cc}/gu, ' ').slice(0, LINE_LENGTH_MAX);

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (HAS_PROCESS_GROUPS) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // The group has already ended.
  }
}
