import { withoutPassword } from '../../server/store-url.js';
import type { ProjectKey } from '../../stores/store.js';
import { coordinatorRemote } from '../../workspace/sync/coordinator-remote.js';
import type { SyncRemote } from '../../workspace/sync/remote.js';
import { readAnyCursor } from '../../workspace/sync/sync-file.js';
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
  const url = explicitRemote ?? context.explicitUrl ?? (await readAnyCursor(syncFile))?.remote ?? null;
  if (url === null || url.includes('***')) {
    throw wrongUsage(
      'With what? Say --remote URL: a server, as https://fleet.example.com, or a store, as postgres://fleet@db/fleet.',
    );
  }
  return url;
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
