import { lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Workspace } from '../../workspace/workspace.js';
import type { Io } from '../io.js';
import { homeOf } from '../user-folder.js';

const FOLDER = '.genesis';

/**
 * The CLI's own folder, which also holds the embedded log. Searches upward from the current folder, so that claims
 * made in a parent folder are found. If there is none, it is the current folder's, or the workspace's.
 */
export function homeFolder(io: Io): string {
  if (io.env.GENESIS_HOME !== undefined) return resolve(io.cwd, io.env.GENESIS_HOME);
  const here = resolve(io.cwd);
  const root = Workspace.find(here)?.root ?? null;
  for (let folder = here; ; folder = dirname(folder)) {
    const found = join(folder, FOLDER);
    if (folder === root || folder === here ? pathExists(found) : isOwnedByUser(found, io)) return found;
    if (folder === root || folder === dirname(folder)) return join(root ?? here, FOLDER);
  }
}

const pathExists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Whether a parent's folder may be used: not the user's global one, not a link, and not another user's. */
function isOwnedByUser(path: string, io: Io): boolean {
  if (dirname(path) === resolve(homeOf(io))) return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
}
