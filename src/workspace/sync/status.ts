import type { SyncRemote } from './remote.js';
import { readCursor } from './sync-file.js';
import { readSyncState } from './sync-state.js';
import { isSyncRefusal, type LocalLog, type SyncRefusal, type SyncWorkspace } from './sync-workspace.js';

const STALE_AFTER_MS = 3600 * 1000;

export interface SyncStatus {
  readonly remote: string;
  readonly local_position: number;
  readonly remote_position: number;
  /** Both logs are equal up to this position. */
  readonly replicated_position: number;
  /** Number of local events that are not in the remote's log in this form. */
  readonly tail: number;
  /** Whether the whole tail has been pushed, so that only a pull is missing. */
  readonly pushed: boolean;
  /** Number of remote events that are missing locally. */
  readonly behind: number;
  readonly last_pull: string | null;
  readonly last_push: string | null;
  readonly warning: string | null;
}

/** How far the two logs differ. It does not predict what the remote would accept of the tail. */
export async function syncStatus(
  workspace: SyncWorkspace,
  local: LocalLog,
  remote: SyncRemote,
  nowMs: number,
): Promise<SyncStatus | SyncRefusal> {
  const cursor = await readCursor(workspace, remote.name);
  const state = await readSyncState(local.store, workspace.key, remote, cursor);
  if (isSyncRefusal(state)) return state;
  const { local_position, remote_position, common } = state;
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
    warning: staleWarning(last_pull, nowMs),
  };
}

function staleWarning(lastPull: string | null, nowMs: number): string | null {
  if (lastPull === null) return 'This workspace was never pulled from there.';
  if (nowMs - Date.parse(lastPull) <= STALE_AFTER_MS) return null;
  return `Last in step at ${lastPull}, more than an hour ago: what is claimed here may be claimed there by now.`;
}
