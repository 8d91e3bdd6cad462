import { lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Workspace } from '../../workspace/workspace.js';
import type { Io } from '../io.js';
import { homeOf } from '../user-folder.js';

const FOLDER = '.genesis';

/**
 * Where the CLI keeps what is its own, beside the embedded log: the nearest such folder from here upward, so that who
 * goes into a subfolder still has what was claimed above. Where there is none, it is made here, or beside the workspace.
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

/** Of a folder above: neither what the user has for all projects, nor what somebody else or a link put there. */
function isOwnedByUser(path: string, io: Io): boolean {
  if (dirname(path) === resolve(homeOf(io))) return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
}
