import { close, constants, fstatSync, openSync, write } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type AppendBytes, LogLineWriter } from './line-writer.js';
import { RotatingFile, type RotationLimits } from './rotating-file.js';

const STANDARD_ERROR = 2;
const STANDARD_ERROR_PATH = '/dev/stderr';
/** For pipes: a write to a full pipe fails instead of blocking. Windows has no such flag. */
const NON_BLOCKING_FLAG = constants.O_NONBLOCK ?? 0;

type OnFailure = (error: NodeJS.ErrnoException) => void;

export interface LogFile {
  readonly writer: LogLineWriter;
  /** Writes the pending lines, then closes the file. */
  close(): Promise<void>;
}

/** Where the bytes of a log go. */
interface LogDestination {
  readonly append: AppendBytes;
  close(): Promise<void>;
}

/** Opens a file, or a pipe with a reader, for appending lines. Rejects if the path is not writable. */
export async function openLogFile(path: string, onFailure: OnFailure): Promise<LogFile> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NON_BLOCKING_FLAG;
  const file = await open(path, flags, 0o600);
  const append = async (bytes: Buffer) => (await file.write(bytes)).bytesWritten;
  return logFile({ append, close: () => file.close() }, onFailure);
}

/** Standard error as a log. Not `process.stderr`, which buffers without limit when a pipe is full. */
export const standardErrorLog = (): LogFile => logFile(standardError());

export interface RotatedLogOptions {
  /** Called once, before the first line. Finds the path and creates its folder. */
  readonly preparePath: () => Promise<string>;
  /** Called when the file cannot be opened. The lines then go to standard error. */
  readonly onUnwritable: OnFailure;
  /** Called when lines are lost. */
  readonly onFailure: OnFailure;
  readonly limits?: RotationLimits;
}

export interface RotatedLog extends LogFile {
  readonly isOnStandardError: boolean;
  /** Opens the log before its first line. */
  open(): Promise<void>;
}

/** A log in a rotated file, which is opened with its first line. If that fails, the log is standard error from then on. */
export function rotatedLog({ preparePath, onUnwritable, onFailure, limits }: RotatedLogOptions): RotatedLog {
  let isOnStandardError = false;
  let opening: Promise<LogDestination> | null = null;
  const openFile = async (): Promise<LogDestination> => {
    try {
      const file = new RotatingFile(await preparePath(), limits);
      await file.open();
      return file;
    } catch (error) {
      isOnStandardError = true;
      onUnwritable(error as NodeJS.ErrnoException);
      return standardError();
    }
  };
  const openOnce = (): Promise<LogDestination> => {
    opening ??= openFile();
    return opening;
  };
  const append: AppendBytes = async (bytes) => (await openOnce()).append(bytes);
  const close = async (): Promise<void> => (await opening)?.close();
  return {
    ...logFile({ append, close }, onFailure),
    get isOnStandardError() {
      return isOnStandardError;
    },
    open: async () => void (await openOnce()),
  };
}

/** A log that appends lines to its destination. */
function logFile({ append, close }: LogDestination, onFailure?: OnFailure): LogFile {
  const writer = new LogLineWriter(append, onFailure);
  return { writer, close: () => writer.close().then(close) };
}

function standardError(): LogDestination {
  const fd = standardErrorFd();
  return {
    append: async (bytes) => (await promisify(write)(fd, bytes)).bytesWritten,
    close: async () => {
      if (fd !== STANDARD_ERROR) await promisify(close)(fd);
    },
  };
}

/**
 * A descriptor of standard error that does not block. A pipe is opened again, because setting the flag on the shared
 * descriptor would affect other processes that write to it.
 */
function standardErrorFd(): number {
  try {
    if (!fstatSync(STANDARD_ERROR).isFIFO()) return STANDARD_ERROR;
    return openSync(STANDARD_ERROR_PATH, constants.O_WRONLY | NON_BLOCKING_FLAG);
  } catch {
    // The pipe has no reader any more, or the system has no such path.
    return STANDARD_ERROR;
  }
}
