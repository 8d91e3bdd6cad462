import type { ProjectKey } from '../store.js';
import { appendSynced, type Disk, type DiskFile, readFully, writeFully } from './disk.js';
import { bytesInFile } from './foreign-lines.js';
import { parseObject } from './line.js';
import { visitWholeLines } from './line-reader.js';
import { eventPositionError } from './log-check.js';
import { decodeLine, decodeText } from './log-line.js';
import { OWN_PREFIXES } from './own-log.js';
import type { Seal } from './seal.js';

interface SplitTail {
  readonly foreign: readonly Buffer[];
  /** All of it is foreign, and it ends with a whole line. */
  readonly isAllForeign: boolean;
}

/**
 * Tells torn lines of the log from lines of other programs, after the last seal. Torn lines continue the log, or are the
 * beginning of such a line; no seal covers them. Everything else is foreign, also a copy of an older line of the log.
 */
export function splitTail(tail: Buffer, key: ProjectKey, position: number): SplitTail {
  const lines: { readonly line: Buffer; isOwn: boolean }[] = [];
  let nextPosition = position + 1;
  const wholeBytes = visitWholeLines(tail, 0, (line) => {
    const decoded = decodeLine(line);
    if (typeof decoded === 'string') lines.push({ line, isOwn: isTornLine(line) });
    else if (decoded.kind === 'transaction') {
      const { event } = decoded.line;
      const isOwn = event === null || eventPositionError(event, key, nextPosition) === null;
      if (isOwn && event !== null) nextPosition += 1;
      lines.push({ line, isOwn });
    } else if (decoded.kind === 'seal') {
      const isOwn = lines.at(-1)?.isOwn === true || isNextSeal(decoded.seal, position);
      lines.push({ line, isOwn });
      // A line of its block may look foreign because it is damaged.
      if (isOwn) for (const covered of lines.slice(-decoded.seal.lines - 1)) covered.isOwn = true;
    } else lines.push({ line, isOwn: decoded.kind === 'v1' });
  });
  const foreign = lines.filter(({ isOwn }) => !isOwn).map(({ line }) => line);
  return { foreign, isAllForeign: foreign.length === lines.length && wholeBytes === tail.length };
}

/** Whether a seal could follow the last seal of the log: it names the end of the log as durable. */
const isNextSeal = ({ durable, continues }: Seal, position: number): boolean =>
  durable === position || (continues === true && durable <= position);

/** Whether this may be the part of a line that a crash has left. */
const isTornLine = (line: Buffer): boolean =>
  parseObject(decodeText(line)) === null &&
  OWN_PREFIXES.some((prefix) => line.subarray(0, prefix.length).equals(prefix));

/**
 * Cuts a log file off at `from`, after which the lines of the log are unfinished. The foreign lines after `from` are
 * appended again, because other programs rely on them.
 */
export async function truncateKeepingForeignLines(
  file: DiskFile,
  from: number,
  foreign: readonly Buffer[],
): Promise<void> {
  await file.truncate(from);
  if (foreign.length > 0) {
    const bytes = Buffer.allocUnsafe(bytesInFile(foreign));
    let length = 0;
    for (const line of foreign) {
      length += line.copy(bytes, length);
      length += bytes.write('\n', length);
    }
    await writeFully(file, bytes);
  }
  await file.sync();
}

/** Writes a copy of what is about to be cut off beside the log. Returns its path. */
export async function saveTornTail(
  disk: Disk,
  folder: string,
  position: number,
  tail: Buffer,
): Promise<string> {
  const names = new Set(await disk.list(folder));
  let copyNumber = 1;
  while (names.has(`torn-${position}-${copyNumber}.bin`)) copyNumber += 1;
  const path = `${folder}/torn-${position}-${copyNumber}.bin`;
  await appendSynced(disk, path, [tail]);
  await disk.syncFolder(folder);
  return path;
}

/** Everything in a file after an offset. */
export const readTail = async (file: DiskFile, from: number): Promise<Buffer> =>
  readFully(file, from, Math.max(0, (await file.size()) - from));
