import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Workspace } from '../workspace/workspace.js';
import type { Io } from './io.js';
import { cliFolder } from './state/cli-folder.js';

const FILE = 'file:';
const WORKSPACE = 'workspace:';

/** The default store URL: in a workspace its own log, elsewhere the embedded log in the CLI's folder. */
export function defaultStore(io: Io): string {
  if (io.env.GENESIS_STORE !== undefined) return io.env.GENESIS_STORE;
  const workspace = Workspace.find(io.cwd);
  return workspace === null ? `${FILE}${join(cliFolder(io), 'log')}` : `${WORKSPACE}${workspace.root}`;
}

/** The workspace that a store URL names; null for any other store. */
export function workspaceOfStoreUrl(io: Io, url: string): Workspace | null {
  return url.startsWith(WORKSPACE) ? new Workspace(resolve(io.cwd, url.slice(WORKSPACE.length))) : null;
}

/** The folder that a store URL names; null if it names none. */
export function folderOfStore(io: Io, url: string): string | null {
  const workspace = workspaceOfStoreUrl(io, url);
  if (workspace !== null) return workspace.events;
  if (url.startsWith(`${FILE}//`)) return fileURLToPath(url);
  return url.startsWith(FILE) ? resolve(io.cwd, url.slice(FILE.length)) : null;
}
