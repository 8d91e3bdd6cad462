import { appendSynced, type Disk, type DiskFile, readFully, writeFully } from './disk.js';
import { bytesInFile } from './foreign-lines.js';
import { visitWholeLines } from './line-reader.js';
import { isForeignLine } from './log-line.js';

/**
 * Cuts a log file off at `from`, where our own lines are unfinished. Foreign lines after that place are appended again,
 * since other programs rely on them. Returns them.
 */
export async function cutKeepingForeign(
  file: DiskFile,
  from: number,
  tail: Buffer,
): Promise<readonly Buffer[]> {
  const foreign: Buffer[] = [];
  visitWholeLines(tail, 0, (line) => {
    if (isForeignLine(line)) foreign.push(line);
  });
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
  return foreign;
}

/** Writes a copy of what is about to be cut off beside the log. Returns its path. */
export async function saveTornTail(
  disk: Disk,
  folder: string,
  position: number,
  tail: Buffer,
): Promise<string> {
  const names = new Set(await disk.list(folder));
  let attempt = 1;
  while (names.has(`torn-${position}-${attempt}.bin`)) attempt += 1;
  const path = `${folder}/torn-${position}-${attempt}.bin`;
  await appendSynced(disk, path, [tail]);
  await disk.syncFolder(folder);
  return path;
}

/** Everything in a file after an offset. */
export const readTail = async (file: DiskFile, from: number): Promise<Buffer> =>
  readFully(file, from, Math.max(0, (await file.size()) - from));
