import { basename, dirname } from 'node:path';
import { withoutPassword } from '../../server/store-url.js';
import type { ProjectKey } from '../../stores/store.js';
import { coordinatorRemote } from '../../workspace/sync/coordinator-remote.js';
import type { SyncRemote } from '../../workspace/sync/remote.js';
import { readAnyCursor } from '../../workspace/sync/sync-file.js';
import { trackedPaths } from '../../workspace/tracked-secrets.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import { withStore } from '../open-store.js';
import { sdkRemote } from './sdk-remote.js';

/** The remote's URL: the one given, else the one this workspace synced with last. */
export async function remoteUrl(
  context: CommandContext,
  explicitRemote: string | undefined,
  syncFile: string,
): Promise<string> {
  const url = explicitRemote ?? context.explicitUrl ?? (await rememberedRemote(syncFile));
  if (url === null || url.includes('***')) {
    throw wrongUsage(
      'With what? Say --remote URL: a server, as https://fleet.example.com, or a store, as postgres://fleet@db/fleet.',
    );
  }
  return url;
}

/**
 * The remote of the last sync, unless git tracks the file that names it: then whoever can push to the repository could name
 * a server of theirs, and receive the token of everyone who pulls.
 */
async function rememberedRemote(syncFile: string): Promise<string | null> {
  const remote = (await readAnyCursor(syncFile))?.remote ?? null;
  if (remote === null) return null;
  const tracked = await trackedPaths(dirname(syncFile), [basename(syncFile)]);
  if (tracked?.length === 0) return remote;
  throw wrongUsage(
    `Git tracks ${basename(syncFile)}, or cannot be asked, so its remote ${remote} may have been written by somebody else. Say --remote URL.`,
  );
}

/** Runs work with a remote: a server over HTTP, or a store opened in this process. */
export async function withRemote<T>(
  context: CommandContext,
  url: string,
  key: ProjectKey,
  work: (remote: SyncRemote) => Promise<T>,
): Promise<T> {
  const name = withoutPassword(url);
  const { tenant_id: tenant, project_id: project } = key;
  if (/^https?:/.test(url)) return work(sdkRemote(await context.genesisAt({ url, tenant, project }), name));
  return withStore(context, url, async ({ store, blobs }) => {
    const { Coordinator } = await import('../../coordinator/coordinator.js');
    const coordinator = await Coordinator.open({ store, blobs });
    try {
      return await work(coordinatorRemote({ name, coordinator, store, blobs, key }));
    } finally {
      coordinator.close();
    }
  });
}
