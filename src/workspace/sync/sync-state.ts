import { canonicalJson } from '../../core/canonical-json.js';
import type { Store } from '../../stores/store.js';
import type { SyncRemote } from './remote.js';
import { readCursor, type SyncCursor } from './sync-file.js';
import type { SyncRefusal, SyncWorkspace } from './sync-workspace.js';

const PAGE_SIZE = 1000;

export interface SyncState {
  readonly local_position: number;
  readonly remote_position: number;
  /** Both logs are equal up to this position; later local events are offline work. */
  readonly common_position: number;
  readonly cursor: SyncCursor | null;
}

/** Determines how far the local log is a replica, by comparing events from the cursor's position on. */
export async function readSyncState(
  workspace: SyncWorkspace,
  store: Store,
  remote: SyncRemote,
): Promise<SyncState | SyncRefusal> {
  const cursor = await readCursor(workspace, remote.name);
  const local_position = (await store.project(workspace.key))?.position ?? 0;
  const remote_position = await remote.position();
  const until_position = Math.min(local_position, remote_position);
  const knownPosition = Math.min(cursor?.replicated_position ?? 0, local_position);
  if (knownPosition > remote_position)
    return remoteDiffersRefusal(remote, `it ends at position ${remote_position}`);
  let common_position = Math.max(knownPosition - 1, 0);
  while (common_position < until_position) {
    const limit = Math.min(PAGE_SIZE, until_position - common_position);
    const remoteEvents = await remote.events(common_position, limit);
    const page = await store.events(workspace.key, { after: common_position, until_position, limit });
    const localEvents = page.slice(0, remoteEvents.length);
    // A pushed event keeps its id at the remote, but not its time and position: only an identical event is a replica.
    const differenceIndex = localEvents.findIndex(
      (event, index) => canonicalJson(event) !== canonicalJson(remoteEvents[index]),
    );
    common_position += differenceIndex === -1 ? localEvents.length : differenceIndex;
    if (localEvents.length === 0 || differenceIndex !== -1) break;
  }
  if (common_position < knownPosition)
    return remoteDiffersRefusal(remote, `event ${common_position + 1} differs`);
  return { local_position, remote_position, common_position, cursor };
}

const remoteDiffersRefusal = (remote: SyncRemote, how: string): SyncRefusal => ({
  refused: 'REMOTE_DIFFERS',
  detail:
    `The log of ${remote.name} is not the log that this workspace last synced with: ${how}. Nothing was changed. ` +
    'The remote may have been restored from a backup, or be another project. If the remote is right as it is, delete ' +
    '.ai-workspace/sync.yml and run gen sync push --remote URL. That sends every local event that the remote does not have.',
});
