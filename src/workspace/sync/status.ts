import { standing } from './common.js';
import { isRefusal, type LocalLog, type SyncPlace, type SyncRefusal } from './place.js';
import type { Remote } from './remote.js';
import { readCursor } from './sync-file.js';

const OLD_MS = 3600 * 1000;

export interface SyncStatus {
  readonly remote: string;
  readonly local_position: number;
  readonly remote_position: number;
  /** Up to here both logs are the same. */
  readonly replicated_position: number;
  /** Done here and not in the remote's log as it is here. */
  readonly tail: number;
  /** All of it was told to the remote already: only a pull is missing. */
  readonly pushed: boolean;
  /** In the remote's log and not here. */
  readonly behind: number;
  readonly last_pull: string | null;
  readonly last_push: string | null;
  readonly warning: string | null;
}

/** How far apart the two logs are. What the remote would say to the tail is not foretold: only it decides. */
export async function syncStatus(
  place: SyncPlace,
  local: LocalLog,
  remote: Remote,
  now_ms: number,
): Promise<SyncStatus | SyncRefusal> {
  const cursor = await readCursor(place, remote.name);
  const now = await standing(local.store, place.key, remote, cursor);
  if (isRefusal(now)) return now;
  const { local_position, remote_position, common } = now;
  const last_pull = cursor?.last_pull ?? null;
  return {
    remote: remote.name,
    local_position,
    remote_position,
    replicated_position: common,
    tail: local_position - common,
    pushed: cursor?.pushed_position === local_position,
    behind: remote_position - common,
    last_pull,
    last_push: cursor?.last_push ?? null,
    warning: warningOf(last_pull, now_ms),
  };
}

function warningOf(last_pull: string | null, now_ms: number): string | null {
  if (last_pull === null) return 'This workspace was never pulled from there.';
  if (now_ms - Date.parse(last_pull) <= OLD_MS) return null;
  return `Last in step at ${last_pull}, more than an hour ago: what is claimed here may be claimed there by now.`;
}
