import { basename, dirname } from 'node:path';
import { withoutPassword } from '../../server/store-url.js';
import { isModuleUrl } from '../../stores/custom/module-store.js';
import type { SyncRemote } from '../../workspace/sync/remote.js';
import { storeRemote } from '../../workspace/sync/store-remote.js';
import { readAnyCursor } from '../../workspace/sync/sync-file.js';
import type { SyncWorkspace } from '../../workspace/sync/sync-workspace.js';
import { findTrackedPaths } from '../../workspace/tracked-secrets.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import { withCoordinator } from '../open-store.js';
import { serverRemote } from './server-remote.js';

/**
 * Runs work with a remote: a server over HTTP, or a store opened in this process. The remote is the given one, else the
 * one that this workspace synced with last.
 */
export async function withRemote<T>(
  context: CommandContext,
  { key, sync_file }: SyncWorkspace,
  explicitRemote: string | undefined,
  work: (remote: SyncRemote) => Promise<T>,
): Promise<T> {
  const url = explicitRemote ?? context.explicitUrl ?? (await readLastRemote(sync_file));
  if (url === null) {
    throw wrongUsage(
      'This workspace has not been synced with a remote yet. Pass --remote URL: a server ' +
        '(https://fleet.example.com) or a store (postgres://fleet@db/fleet).',
    );
  }
  if (url.includes('***')) {
    throw wrongUsage(
      `The URL of the remote, ${withoutPassword(url)}, has no password, because passwords are not stored. ` +
        'Pass the whole URL: --remote URL.',
    );
  }
  const name = withoutPassword(url);
  const { tenant_id: tenant, project_id: project } = key;
  if (/^https?:/.test(url))
    return work(serverRemote(await context.genesisAt({ url, tenant, project }), name));
  return withCoordinator(context, url, (opened) => work(storeRemote({ name, ...opened, key })));
}

/**
 * The remote of the last sync; null before the first sync. Throws unless it is certain that git does not track the file that
 * names the remote: otherwise anyone who can push to the repository could name a server of theirs there, and receive the
 * token of everyone who pulls. Also throws for a remote that is a module.
 */
async function readLastRemote(syncFile: string): Promise<string | null> {
  const remote = (await readAnyCursor(syncFile))?.remote ?? null;
  if (remote === null) return null;
  if (isModuleUrl(remote)) {
    throw wrongUsage(
      `The last remote was ${remote}. It runs the code of that file, so it must be named each time: --remote URL.`,
    );
  }
  const tracked = await findTrackedPaths(dirname(syncFile), [basename(syncFile)]);
  if (tracked?.length === 0) return remote;
  throw wrongUsage(
    `Git tracks ${basename(syncFile)}, or git cannot be run, so another user may have set its remote ${remote}. ` +
      'Pass --remote URL.',
  );
}
