import { lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { PLATFORM_TENANT } from '../../core/subject.js';
import { STORE_FILE, tenantFolder } from '../../stores/file/layout.js';
import { findForeignPath, foreignFolderText } from '../../workspace/folder-owner.js';
import { Workspace } from '../../workspace/workspace.js';
import { failureWithCode } from '../exit.js';
import type { Io } from '../io.js';
import { CLI_FOLDER_NAME, osHomeFolder } from './user-folder.js';

/**
 * The path of the CLI's own folder, which also holds the embedded log: `GENESIS_HOME`, or else the nearest one, searched upward
 * from the current folder to the workspace's root, so that claims made in a parent folder are found. If none is found, it is a
 * new folder in the workspace, or else in the current folder. Throws if another user owns the folder, unless `GENESIS_HOME`
 * names it. Ignores a workspace of another user: commands that need that workspace refuse it, but all other commands must
 * work there.
 */
export function cliFolder(io: Io): string {
  if (io.env.GENESIS_HOME !== undefined) return resolve(io.cwd, io.env.GENESIS_HOME);
  const cwd = resolve(io.cwd);
  const root = Workspace.findOwn(cwd, io.env)?.root ?? null;
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, CLI_FOLDER_NAME);
    if (folder === root || folder === cwd ? pathExists(path) : isUsableParentFolder(path, io))
      return assertOwned(path, io);
    if (folder === root || folder === dirname(folder)) return join(root ?? cwd, CLI_FOLDER_NAME);
  }
}

const pathExists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Whether a parent's folder may be used: not the user's global one, not a link, and not another user's. */
function isUsableParentFolder(path: string, io: Io): boolean {
  if (dirname(path) === resolve(osHomeFolder(io))) return false;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && findForeignPath([path], io.env) === null;
}

/** Refuses a folder of another user, and an embedded log of another user: the log decides which keys open the server. */
function assertOwned(home: string, io: Io): string {
  const log = join(home, 'log');
  const foreign = findForeignPath(
    [home, log, join(log, STORE_FILE), tenantFolder(log, PLATFORM_TENANT)],
    io.env,
  );
  if (foreign === null) return home;
  const message = foreignFolderText('A store folder', home, foreign, `GENESIS_HOME=${home}`);
  throw failureWithCode('STORE_REFUSED', message);
}
