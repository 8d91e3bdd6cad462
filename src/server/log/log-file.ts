import { close, constants, fstatSync, openSync, write } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type AppendBytes, LogLineWriter } from './line-writer.js';

const STANDARD_ERROR = 2;
const STANDARD_ERROR_PATH = '/dev/stderr';
/** For pipes: a write to a full pipe fails instead of blocking. Windows has no such flag. */
const NOT_BLOCKING = constants.O_NONBLOCK ?? 0;

export type LogFile = ReturnType<typeof logFile>;

/** Opens a file, or a pipe with a reader, for appending lines. Rejects if the path is not writable. */
export async function openLogFile(
  path: string,
  onFailure: (error: NodeJS.ErrnoException) => void,
): Promise<LogFile> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NOT_BLOCKING;
  const file = await open(path, flags, 0o600);
  const append = async (bytes: Buffer) => (await file.write(bytes)).bytesWritten;
  return logFile(append, () => file.close(), onFailure);
}

/** Standard error as a log. Not `process.stderr`, which buffers without limit when a pipe is full. */
export function standardErrorLog(): LogFile {
  const fd = standardErrorFd();
  const append = async (bytes: Buffer) => (await promisify(write)(fd, bytes)).bytesWritten;
  return logFile(append, async () => {
    if (fd !== STANDARD_ERROR) await promisify(close)(fd);
  });
}

/** A log that appends lines to an open file. Its `close` writes the pending lines, then closes the file. */
function logFile(
  append: AppendBytes,
  closeFile: () => Promise<void>,
  onFailure?: (error: NodeJS.ErrnoException) => void,
) {
  const writer = new LogLineWriter(append, onFailure);
  return { writer, close: () => writer.close().then(closeFile) };
}

/** A pipe is opened again: setting the flag on the shared descriptor would affect other processes that write to it. */
function standardErrorFd(): number {
  try {
    if (!fstatSync(STANDARD_ERROR).isFIFO()) return STANDARD_ERROR;
    return openSync(STANDARD_ERROR_PATH, constants.O_WRONLY | NOT_BLOCKING);
  } catch {
    // The pipe has no reader any more, or the system has no such path.
    return STANDARD_ERROR;
  }
}
