import { StoreRefused } from '../../store.js';
import { type Disk, readWhole, withFile } from '../disk.js';
import { ACTIVE_FILE, closedSegmentPositions, type StoreLayout, WAL_FILE } from '../layout.js';
import type { StoredPart } from './frame.js';
import { readFrames } from './read-frames.js';
import { removeWal } from './write-ahead-log.js';

/**
 * Writes the bytes that only the write-ahead log made durable to the logs of the projects, and removes the write-ahead
 * log. After a power loss the logs may lack these bytes, or have other bytes in their place. The bytes are written even
 * to a log that reads well: a file whose sync failed may read well and still not be on the disk. A second replay changes
 * nothing.
 */
export async function replayWal(disk: Disk, layout: StoreLayout): Promise<void> {
  const path = `${layout.root}/${WAL_FILE}`;
  const bytes = await withFile(disk, path, readWhole);
  if (bytes === null) return;
  const { frames, damage } = readFrames(bytes);
  if (damage !== null) throw damageError(`${path}, line ${damage.line}: ${damage.why}`);
  const files: ReplayedFile[] = [];
  for (const [folder, parts] of partsByFolder(
    frames.flatMap((frame) => frame.parts),
    layout,
  )) {
    const file = await fileToReplay(disk, folder, parts);
    if (file !== null) files.push(file);
  }
  // Every file is checked before the first one is changed.
  for (const file of files) await replayFile(disk, file);
  await removeWal(disk, layout.root);
}

function partsByFolder(parts: readonly StoredPart[], layout: StoreLayout): Map<string, StoredPart[]> {
  const byFolder = new Map<string, StoredPart[]>();
  for (const part of parts) {
    const folder = layout.projectFolder(part);
    const existing = byFolder.get(folder);
    if (existing === undefined) byFolder.set(folder, [part]);
    else existing.push(part);
  }
  return byFolder;
}

interface ReplayedFile {
  readonly folder: string;
  readonly path: string;
  readonly runs: readonly ByteRun[];
}

/** Null: the segment was closed since. It was synced before it was closed, and may have been redacted afterwards. */
async function fileToReplay(
  disk: Disk,
  folder: string,
  parts: readonly StoredPart[],
): Promise<ReplayedFile | null> {
  const closed = new Set(await closedSegmentPositions(disk, folder));
  const active = parts.filter(({ segment }) => !closed.has(segment));
  if (active.length === 0) return null;
  const path = `${folder}/${ACTIVE_FILE}`;
  if (active.some(({ segment }) => segment !== active[0]?.segment))
    throw damageError(`A segment before ${path} is missing`);
  const runs = joinParts(active);
  let size = (await withFile(disk, path, (file) => file.size())) ?? 0;
  for (const { start, bytes } of runs) {
    if (start > size)
      throw damageError(`${path} has ${size} bytes, and ${WAL_FILE} continues it at ${start}`);
    size = Math.max(size, start + bytes.length);
  }
  return { folder, path, runs };
}

async function replayFile(disk: Disk, { folder, path, runs }: ReplayedFile): Promise<void> {
  await disk.makeFolder(folder);
  const file = await disk.openUpdate(path);
  try {
    for (const { start, bytes } of runs) await file.writeAt(bytes, start);
    await file.sync();
    await disk.syncFolder(folder);
  } finally {
    await file.close();
  }
}

interface ByteRun {
  readonly start: number;
  readonly bytes: Buffer;
}

/** Joins parts that follow each other, so that they take one write. */
function joinParts(parts: readonly StoredPart[]): ByteRun[] {
  const runs: { start: number; end: number; chunks: Buffer[] }[] = [];
  for (const { start, bytes } of parts) {
    const last = runs.at(-1);
    if (last?.end === start) {
      last.chunks.push(bytes);
      last.end += bytes.length;
    } else runs.push({ start, end: start + bytes.length, chunks: [bytes] });
  }
  return runs.map(({ start, chunks }) => ({ start, bytes: Buffer.concat(chunks) }));
}

const damageError = (what: string): StoreRefused =>
  new StoreRefused(
    `${what}. It was durable before, so this is damage and not the result of a crash, and it may concern any tenant. ` +
      'Nothing was changed. Restore the folder from a backup. If the folder is a copy that was made while the server was ' +
      `running, remove ${WAL_FILE} from the copy: its logs are complete.`,
  );
