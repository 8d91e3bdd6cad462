import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { readFully } from '../stores/file/disk.js';
import { ACTIVE_FILE, closedSegmentPositions } from '../stores/file/layout.js';
import { nodeDisk } from '../stores/file/node-disk.js';
import { isOwnLog } from '../stores/file/own-log.js';
import { type Workspace, WorkspaceError } from './workspace.js';

/** The first bytes of a file, at most `bytesMax`; none if it does not exist. */
export async function readFirstBytes(path: string, bytesMax: number): Promise<Buffer> {
  const file = await nodeDisk.openRead(path);
  if (file === null) return Buffer.alloc(0);
  try {
    return await readFully(file, 0, Math.min(await file.size(), bytesMax));
  } finally {
    await file.close();
  }
}

/** Enough for the largest possible first line of a log. */
export const FIRST_LINES_BYTES = 1024 * 1024;

/** Whether a log exists that another program started. Lines that another program appends to our log do not count. */
export async function hasForeignLog({ events }: Workspace): Promise<boolean> {
  if (isOwnLog(await readFirstBytes(join(events, ACTIVE_FILE), FIRST_LINES_BYTES))) return false;
  return (await closedSegmentPositions(nodeDisk, events)).length === 0;
}

/** Throws if another program wrote the log: a view would be empty, because it lacks that program's history. */
export async function assertOwnLog(workspace: Workspace): Promise<void> {
  const path = join(workspace.events, ACTIVE_FILE);
  if (!(await hasForeignLog(workspace))) return;
  throw new WorkspaceError(
    `${path} was not written by this program: none of its lines are sealed. Nothing was changed. ` +
      `To import it and keep the original, run: gen import --foreign ${path}. ` +
      `To only read it, run: gen status --log ${path}`,
  );
}

/** The folder for the logs of other tools that were found at the path of our log. */
export const foreignFolderOf = ({ events }: Workspace): string => join(events, 'foreign');

export interface MovedForeignLogs {
  /** Every log in `events/foreign/`, moved there now or earlier. */
  readonly logs: readonly string[];
  /** Moves the log back if the import failed before our log was begun at the same path. */
  readonly undo: () => Promise<void>;
}

/** Moves another tool's log, unchanged, from the path of our log to `events/foreign/`, where its digest is its name. */
export async function moveForeignLogAside(workspace: Workspace): Promise<MovedForeignLogs> {
  const log = join(workspace.events, ACTIVE_FILE);
  const folder = foreignFolderOf(workspace);
  let undo = async (): Promise<void> => {};
  if (await hasForeignLog(workspace)) {
    await nodeDisk.makeFolder(folder);
    const movedPath = join(folder, `${await digestOf(log)}.jsonl`);
    const moveFile = async (from: string, to: string): Promise<void> => {
      await nodeDisk.rename(from, to);
      await nodeDisk.syncFolder(folder);
      await nodeDisk.syncFolder(workspace.events);
    };
    await moveFile(log, movedPath);
    undo = async () => {
      if ((await readFirstBytes(log, 1)).length === 0) await moveFile(movedPath, log);
    };
  }
  const names = (await nodeDisk.list(folder)).filter((name) => name.endsWith('.jsonl'));
  return { logs: names.sort().map((name) => join(folder, name)), undo };
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
