import { close, constants, fstatSync, openSync, write } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { LogLineWriter } from './line-writer.js';

const STANDARD_ERROR = 2;
const STANDARD_ERROR_PATH = '/dev/stderr';
/** For pipes: a write to one that is full fails instead of waiting. Windows has no such flag. */
const NOT_BLOCKING = constants.O_NONBLOCK ?? 0;

export interface LogFile {
  readonly writer: LogLineWriter;
  /** Writes what waits, then closes the file. */
  close(): Promise<void>;
}

/** Opens a file, or a pipe that somebody reads, to write lines at its end. Rejects where the path cannot be written. */
export async function openLogFile(
  path: string,
  onFailure: (error: NodeJS.ErrnoException) => void,
): Promise<LogFile> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NOT_BLOCKING;
  const file = await open(path, flags, 0o600);
  const append = async (bytes: Buffer) => (await file.write(bytes)).bytesWritten;
  const lines = new LogLineWriter(append, onFailure);
  const closeAll = async (): Promise<void> => {
    await lines.close();
    await file.close();
  };
  return { writer: lines, close: closeAll };
}

/** Standard error as a log. `process.stderr` is not used: what a full pipe does not take it keeps without limit. */
export function standardErrorLog(): LogFile {
  const fd = standardErrorFd();
  const append = async (bytes: Buffer) => (await promisify(write)(fd, bytes)).bytesWritten;
  const lines = new LogLineWriter(append);
  const closeAll = async (): Promise<void> => {
    await lines.close();
    if (fd !== STANDARD_ERROR) await promisify(close)(fd);
  };
  return { writer: lines, close: closeAll };
}

/** A pipe is opened a second time: the flag must not change it for other processes that write to it. */
function standardErrorFd(): number {
  try {
    if (!fstatSync(STANDARD_ERROR).isFIFO()) return STANDARD_ERROR;
    return openSync(STANDARD_ERROR_PATH, constants.O_WRONLY | NOT_BLOCKING);
  } catch {
    // Nobody reads the pipe any more, or the system has no such path.
    return STANDARD_ERROR;
  }
}
