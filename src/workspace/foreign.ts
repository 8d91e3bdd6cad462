import { join } from 'node:path';
import { readFully } from '../stores/file/disk.js';
import { ACTIVE_FILE } from '../stores/file/layout.js';
import { LINE_PREFIX } from '../stores/file/line.js';
import { nodeDisk } from '../stores/file/node-disk.js';
import type { Workspace } from './workspace.js';
import { WorkspaceError } from './workspace-error.js';

/** Whether a log exists that another program started. */
export async function isForeign(path: string): Promise<boolean> {
  const file = await nodeDisk.openRead(path);
  if (file === null) return false;
  try {
    // A crash may have left less than the first line.
    const start = await readFully(file, 0, LINE_PREFIX.length);
    return start.compare(LINE_PREFIX, 0, start.length) !== 0;
  } finally {
    await file.close();
  }
}

/**
 * Throws if the log is another program's: recovery would treat it as torn and truncate it, and a view would be
 * empty.
 */
export async function refuseForeign(workspace: Workspace): Promise<void> {
  const path = join(workspace.events, ACTIVE_FILE);
  if (!(await isForeign(path))) return;
  throw new WorkspaceError(
    `${path} was not written by this program: its lines carry no chain of hashes. Nothing was changed. ` +
      `Bring it in, and keep it beside ours: gen import --foreign ${path}. ` +
      `Only look at it: gen status --log ${path}`,
  );
}
