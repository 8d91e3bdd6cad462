import { canonicalJson } from '../../core/canonical-json.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import type { SyncRemote } from './remote.js';
import type { SyncCursor } from './sync-file.js';
import type { SyncRefusal } from './sync-workspace.js';

const PAGE_SIZE = 1000;

export interface SyncState {
  readonly local_position: number;
  readonly remote_position: number;
  /** Both logs are equal up to this position; later local events are offline work. */
  readonly common: number;
}

/** Determines how far the local log is a replica, by comparing events from the cursor's position on. */
export async function readSyncState(
  store: Store,
  key: ProjectKey,
  remote: SyncRemote,
  cursor: SyncCursor | null,
): Promise<SyncState | SyncRefusal> {
  const local_position = (await store.project(key))?.position ?? 0;
  const remote_position = await remote.position();
  const shared = Math.min(local_position, remote_position);
  const known = Math.min(cursor?.replicated_position ?? 0, local_position);
  const from = Math.max(known - 1, 0);
  if (known > remote_position) return remoteDiffers(remote, `it ends at ${remote_position}`);
  const common = await commonPosition(store, key, remote, from, shared);
  if (common < known) return remoteDiffers(remote, `event ${common + 1} is another`);
  return { local_position, remote_position, common };
}

async function commonPosition(
  store: Store,
  key: ProjectKey,
  remote: SyncRemote,
  from: number,
  until: number,
): Promise<number> {
  for (let common = from; ; ) {
    const limit = Math.min(PAGE_SIZE, until - common);
    if (limit <= 0) return common;
    const ours = await store.events(key, { after: common, until_position: until, limit });
    const theirs = await remote.events(common, limit);
    const pairs = Math.min(ours.length, theirs.length);
    for (let at = 0; at < pairs; at += 1) {
      if (!isSameEvent(ours[at] as EventEnvelope, theirs[at] as EventEnvelope)) return common;
      common += 1;
    }
    if (pairs === 0) return common;
  }
}

/**
 * A pushed event keeps its id at the remote, but not its time and position. Only an identical event is a replica.
 */
const isSameEvent = (ours: EventEnvelope, theirs: EventEnvelope): boolean =>
  ours.event_id === theirs.event_id && canonicalJson(ours) === canonicalJson(theirs);

const remoteDiffers = (remote: SyncRemote, how: string): SyncRefusal => ({
  refused: 'REMOTE_DIFFERS',
  detail:
    `The log of ${remote.name} is not the one that this workspace was in step with: ${how}. Nothing was changed. ` +
    'Was it restored from a backup, or is it another project? Where its log is the right one, remove sync.yml and ' +
    'push again: everything that it does not have is told to it anew.',
});
