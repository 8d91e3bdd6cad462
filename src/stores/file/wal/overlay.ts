import { dirname, join, resolve } from 'node:path';
import { type Disk, type DiskFile, type ReadableFile, readWhole, withFile } from '../disk.js';
import { StoreLayout, WAL_FILE } from '../layout.js';
import type { StoredPart } from './frame.js';
import { readFrames, type WalContents } from './read-frames.js';

/** What the write-ahead log of a store has for the log of one project. */
interface ProjectWal {
  readonly path: string;
  readonly parts: readonly StoredPart[];
  readonly damage: WalContents['damage'];
}

const TRIES_MAX = 10;

/** Reads the write-ahead log without changing it. Its writer may be active: it appends, and empties it now and then. */
export async function readProjectWal(disk: Disk, folder: string): Promise<ProjectWal> {
  const root = dirname(dirname(resolve(folder)));
  const path = join(root, WAL_FILE);
  const layout = new StoreLayout(root);
  const isOwn = (part: StoredPart): boolean => resolve(layout.projectFolder(part)) === resolve(folder);
  let previousBytes: Buffer | null = null;
  for (let tries = 1; ; tries += 1) {
    const bytes: Buffer = (await withFile(disk, path, readWhole)) ?? Buffer.alloc(0);
    const { frames, damage } = readFrames(bytes);
    // Real damage gives the same bytes on two reads. Bytes read while the writer was emptying the file do not.
    if (damage === null || previousBytes?.equals(bytes) || tries === TRIES_MAX) {
      const parts = frames.flatMap((frame) => frame.parts);
      return { path, parts: parts.filter(isOwn), damage };
    }
    previousBytes = bytes;
    await disk.pause();
  }
}

/** The file as it will be when the parts are written to it. `file` null: there is none yet. */
export function overlayFile(file: DiskFile | null, parts: readonly StoredPart[]): ReadableFile {
  const end = Math.max(0, ...parts.map(({ start, bytes }) => start + bytes.length));
  const size = async (): Promise<number> => Math.max(end, (await file?.size()) ?? 0);
  return {
    size,
    close: async () => file?.close(),
    async read(into, position) {
      const length = Math.max(0, Math.min(into.length, (await size()) - position));
      const target = into.subarray(0, length);
      target.fill(0);
      if (file !== null) await readAll(file, target, position);
      for (const { start, bytes } of parts) {
        const from = Math.max(start, position);
        const to = Math.min(start + bytes.length, position + length);
        if (from < to) target.set(bytes.subarray(from - start, to - start), from - position);
      }
      return length;
    },
  };
}

async function readAll(file: DiskFile, into: Uint8Array, position: number): Promise<void> {
  for (let filled = 0; filled < into.length; ) {
    const count = await file.read(into.subarray(filled), position + filled);
    if (count === 0) return;
    filled += count;
  }
}
