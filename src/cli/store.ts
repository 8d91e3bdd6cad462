import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Workspace } from '../workspace/workspace.js';
import type { Io } from './io.js';
import { cliFolder } from './state/cli-folder.js';

const FILE_SCHEME = 'file:';
const WORKSPACE_SCHEME = 'workspace:';

/** The default store URL: GENESIS_STORE, else in a workspace its own log, and elsewhere the embedded log in the CLI's folder. */
export function defaultStore(io: Io): string {
  if (io.env.GENESIS_STORE !== undefined) return io.env.GENESIS_STORE;
  const workspace = Workspace.find(io.cwd);
  return workspace === null
    ? `${FILE_SCHEME}${join(cliFolder(io), 'log')}`
    : `${WORKSPACE_SCHEME}${workspace.root}`;
}

/** The workspace that a store URL names; null for any other store. */
export function workspaceOfStoreUrl(io: Io, url: string): Workspace | null {
  return url.startsWith(WORKSPACE_SCHEME)
    ? new Workspace(resolve(io.cwd, url.slice(WORKSPACE_SCHEME.length)))
    : null;
}

/** The folder that a store URL names; null if the store is not in a folder. */
export function folderOfStore(io: Io, url: string): string | null {
  const workspace = workspaceOfStoreUrl(io, url);
  if (workspace !== null) return workspace.events;
  if (url.startsWith(`${FILE_SCHEME}//`)) return fileURLToPath(url);
  return url.startsWith(FILE_SCHEME) ? resolve(io.cwd, url.slice(FILE_SCHEME.length)) : null;
}
