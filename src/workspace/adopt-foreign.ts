import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { ACTIVE_FILE } from '../stores/file/layout.js';
import { nodeDisk } from '../stores/file/node-disk.js';
import { isForeign } from './foreign.js';
import type { Workspace } from './workspace.js';

const FOREIGN_FOLDER = 'foreign';

/**
 * Moves another tool's log, unchanged, from the path of ours to `events/foreign/`, named by its digest. Returns
 * every log that was moved there, now or earlier.
 */
export async function adoptForeignLog(workspace: Workspace): Promise<string[]> {
  const log = join(workspace.events, ACTIVE_FILE);
  const folder = join(workspace.events, FOREIGN_FOLDER);
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
