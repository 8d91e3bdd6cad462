import { lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { PLATFORM_TENANT } from '../../core/subject.js';
import { STORE_FILE, tenantFolder } from '../../stores/file/layout.js';
import { findForeignPath, foreignFolderMessage } from '../../workspace/folder-owner.js';
import { Workspace } from '../../workspace/workspace.js';
import { failureWithCode } from '../exit.js';
import type { Io } from '../io.js';
import { FOLDER, osHomeFolder } from './user-folder.js';

/**
 * The CLI's own folder, which also holds the embedded log. Searches upward from the current folder, so that claims
 * made in a parent folder are found. If there is none, it is the current folder's, or the workspace's. Throws if
 * another user owns it; `GENESIS_HOME` can name it as trusted. A workspace of another user does not count: commands
 * that need it refuse it, and the others must work there.
 */
export function cliFolder(io: Io): string {
  if (io.env.GENESIS_HOME !== undefined) return resolve(io.cwd, io.env.GENESIS_HOME);
  const cwd = resolve(io.cwd);
  const root = Workspace.findOwn(cwd, io.env)?.root ?? null;
  for (let folder = cwd; ; folder = dirname(folder)) {
    const found = join(folder, FOLDER);
    if (folder === root || folder === cwd ? pathExists(found) : isOwnedByUser(found, io))
      return assertOwned(found, io);
    if (folder === root || folder === dirname(folder)) return join(root ?? cwd, FOLDER);
  }
}

const pathExists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Whether a parent's folder may be used: not the user's global one, not a link, and not another user's. */
function isOwnedByUser(path: string, io: Io): boolean {
  if (dirname(path) === resolve(osHomeFolder(io))) return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && findForeignPath([path], io.env) === null;
}

/** The embedded log decides which keys open the server, so it must be the user's too. */
function assertOwned(home: string, io: Io): string {
  const log = join(home, 'log');
  const foreign = findForeignPath(
    [home, log, join(log, STORE_FILE), tenantFolder(log, PLATFORM_TENANT)],
    io.env,
  );
  if (foreign === null) return home;
  const message = foreignFolderMessage('A store folder', home, foreign, `GENESIS_HOME=${home}`);
  throw failureWithCode('STORE_REFUSED', message);
}
