import { StoreBroken, StoreUnavailable } from '../store.js';
import { type Disk, type DiskFile, writeFully } from './disk.js';
import { bytesInFile, FOREIGN_BYTES_MAX, FOREIGN_LINES_MAX } from './foreign-lines.js';
import { linesIn } from './line-reader.js';
import { readTail } from './torn-tail.js';
import { findNextBlock } from './undecided-lines.js';

const NEWLINE = 0x0a;
const NEWLINE_BYTES = Buffer.from('\n');
/** How often to look for the end of a line: other programs write a line in one or two calls, within microseconds. */
const TRIES_MAX = 20;
/** Half of what recovery accepts, so that lines written between the check and the write are accepted too. */
const UNCOVERED_BYTES_MAX = FOREIGN_BYTES_MAX / 2;
const UNCOVERED_LINES_MAX = FOREIGN_LINES_MAX / 2;

/**
 * The whole lines after `from`, where this writer left the file with `seal`: these lines are foreign, whatever their
 * content. Waits a little for a line that is being written. Rejects if the lines contain a block that continues the log,
 * because a log has one writer. Rejects if there are too many lines for recovery, which would have to read them again.
 */
export async function readForeignTail(
  disk: Disk,
  file: DiskFile,
  path: string,
  { from, seal, foreign }: WrittenEnd,
): Promise<readonly Buffer[]> {
  for (let tries = 1; ; tries += 1) {
    const size = await file.size();
    if (size === from) return [];
    if (size - from + bytesInFile(foreign) > UNCOVERED_BYTES_MAX) throw tooManyLinesError(path);
    const tail = size < from ? Buffer.alloc(0) : await readTail(file, from);
    if (tail.length === 0) throw otherWriterError(path, size, from);
    if (tail[tail.length - 1] === NEWLINE) {
      const lines = linesIn(tail);
      if (foreign.length + lines.length > UNCOVERED_LINES_MAX) throw tooManyLinesError(path);
      const nextBlock = findNextBlock(lines, seal);
      if (nextBlock === 'excess') throw tooManyLinesError(path);
      if (nextBlock) throw otherWriterError(path, size, from);
      return lines;
    }
    if (tries === TRIES_MAX) {
      throw new StoreUnavailable(
        `${path} ends in a line that another program has not finished. Complete the line or remove it`,
      );
    }
    await disk.pause();
  }
}

/** The end of the file as this writer left it, the last seal of the log, and the foreign lines that no seal covers yet. */
export interface WrittenEnd {
  readonly from: number;
  readonly seal: string;
  readonly foreign: readonly Buffer[];
}

/** A batch that was written: its offset in the file, and the foreign lines around it. */
export interface AppendedBatch {
  readonly start: number;
  /** Foreign lines found before the write. The batch covers them, or the first of them if there are many. */
  readonly foreignBefore: readonly Buffer[];
  /** Foreign lines that arrived after the check for `foreignBefore`, but before the write; a later batch covers them. */
  readonly foreignBetween: readonly Buffer[];
}

/** How a batch becomes durable after it was written. */
export interface BatchSync {
  /** Whether the file itself is to be synced. Otherwise `makeDurable` is called. */
  readonly syncsOwnFile: boolean;
  onSynced(): void;
  /** Resolves when the bytes of the file from `start` on are durable. */
  makeDurable(start: number, bytes: readonly Buffer[]): Promise<void>;
}

/**
 * Appends a batch after everything in the file, which this writer left at `end`, and makes it durable. `sealBatch`
 * returns the bytes of the batch; its seal covers some or all of the foreign lines that have no seal, from the first
 * on: those of `end`, then the given ones.
 */
export async function appendBatch(
  disk: Disk,
  file: DiskFile,
  path: string,
  end: WrittenEnd,
  sealBatch: (foreignBefore: readonly Buffer[]) => Buffer,
  sync: BatchSync,
): Promise<AppendedBatch> {
  const foreignBefore = await readForeignTail(disk, file, path, end);
  const written = {
    path,
    foreignBefore,
    expected: end.from + bytesInFile(foreignBefore),
    bytes: sealBatch(foreignBefore),
  };
  await writeFully(file, written.bytes);
  if (sync.syncsOwnFile) {
    // The size is read while the disk is busy anyway.
    const [size] = await Promise.all([file.size(), file.sync()]);
    sync.onSynced();
    return findBatch(file, written, size);
  }
  const appended = await findBatch(file, written, await file.size());
  // Includes the foreign lines: the seal covers them, so it cannot be verified without them.
  const foreign = [...foreignBefore, ...appended.foreignBetween].flatMap((line) => [line, NEWLINE_BYTES]);
  await sync.makeDurable(end.from, [...foreign, written.bytes]);
  return appended;
}

interface WrittenBatch {
  readonly path: string;
  readonly foreignBefore: readonly Buffer[];
  /** The offset at which the batch begins, unless another program appends something between the check and the write. */
  readonly expected: number;
  readonly bytes: Buffer;
}

async function findBatch(
  file: DiskFile,
  { path, foreignBefore, expected, bytes }: WrittenBatch,
  size: number,
): Promise<AppendedBatch> {
  if (size === expected + bytes.length) return { start: expected, foreignBefore, foreignBetween: [] };
  const tail = await readTail(file, expected);
  const at = lineStartOf(bytes, tail);
  if (at === null) throw otherWriterError(path, size, expected + bytes.length);
  return { start: expected + at, foreignBefore, foreignBetween: linesIn(tail.subarray(0, at)) };
}

/** Where these bytes begin, which must be the start of a line; null if they are at none. */
function lineStartOf(bytes: Buffer, tail: Buffer): number | null {
  for (let at = 0; at + bytes.length <= tail.length; ) {
    if (tail.subarray(at, at + bytes.length).equals(bytes)) return at;
    const newline = tail.indexOf(NEWLINE, at);
    if (newline < 0) return null;
    at = newline + 1;
  }
  return null;
}

const tooManyLinesError = (path: string): StoreUnavailable =>
  new StoreUnavailable(
    `${path}: another program has appended more lines than the log accepts at once. Stop that program, then try again`,
  );

const otherWriterError = (path: string, size: number, end: number): StoreBroken =>
  new StoreBroken(
    `${path} has ${size} bytes, but this writer left it at ${end}: ` +
      'another process writes to this log. Stop that process, then restart the server.',
  );
