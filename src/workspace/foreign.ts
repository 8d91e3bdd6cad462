import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { readFully } from '../stores/file/disk.js';
import { ACTIVE_FILE } from '../stores/file/layout.js';
import { LINE_PREFIX } from '../stores/file/line.js';
import { nodeDisk } from '../stores/file/node-disk.js';
import { type Workspace, WorkspaceError } from './workspace.js';

/** At most so many bytes from the start of a file; none if it does not exist. */
export async function readStart(path: string, bytesMax: number): Promise<Buffer> {
  const file = await nodeDisk.openRead(path);
  if (file === null) return Buffer.alloc(0);
  try {
    return await readFully(file, 0, Math.min(await file.size(), bytesMax));
  } finally {
    await file.close();
  }
}

/** Whether a log exists that another program started. */
async function isForeign(path: string): Promise<boolean> {
  // A crash may have left less than the first line.
  const start = await readStart(path, LINE_PREFIX.length);
  return start.compare(LINE_PREFIX, 0, start.length) !== 0;
}

/**
 * Throws if the log is another program's: recovery would treat it as torn and truncate it, and a view would be
 * empty.
 */
export async function refuseForeign(workspace: Workspace): Promise<void> {
  const path = join(workspace.events, ACTIVE_FILE);
  if (!(await isForeign(path))) return;
  throw new WorkspaceError(
    `${path} was not written by this program: its lines have no hash chain. Nothing was changed. ` +
      `To import it and keep the original, run: gen import --foreign ${path}. ` +
      `To only read it, run: gen status --log ${path}`,
  );
}

/**
 * Moves another tool's log, unchanged, from the path of ours to `events/foreign/`, named by its digest. Returns
 * every log that was moved there, now or earlier.
 */
export async function adoptForeignLog(workspace: Workspace): Promise<string[]> {
  const log = join(workspace.events, ACTIVE_FILE);
  const folder = join(workspace.events, 'foreign');
  if (await isForeign(log)) {
    await nodeDisk.makeFolder(folder);
    await nodeDisk.rename(log, join(folder, `${await digestOf(log)}.jsonl`));
    await nodeDisk.syncFolder(folder);
    await nodeDisk.syncFolder(workspace.events);
  }
  const names = (await nodeDisk.list(folder)).filter((name) => name.endsWith('.jsonl'));
  return names.sort().map((name) => join(folder, name));
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
