import type { SyncRemote } from './remote.js';
import { readSyncState, type SyncState } from './sync-state.js';
import { isSyncRefusal, type LocalLog, type SyncRefusal, type SyncWorkspace } from './sync-workspace.js';

const STALE_AFTER_MS = 3600 * 1000;

export interface SyncStatus extends Pick<SyncState, 'local_position' | 'remote_position'> {
  readonly remote: string;
  /** Both logs are equal up to this position. */
  readonly replicated_position: number;
  /** Number of offline events: those after `replicated_position`, also after they were pushed, until a pull replaces them. */
  readonly tail: number;
  /** Whether every local event has been pushed, so that only a pull is missing if there are offline events. */
  readonly pushed: boolean;
  /** Number of remote events after `replicated_position`, which a pull will bring. */
  readonly behind: number;
  readonly last_pull: string | null;
  readonly last_push: string | null;
  readonly warning: string | null;
}

/** How far the two logs differ. Does not predict which offline events the remote would accept. */
export async function syncStatus(
  workspace: SyncWorkspace,
  local: LocalLog,
  remote: SyncRemote,
  nowMs: number,
): Promise<SyncStatus | SyncRefusal> {
  const state = await readSyncState(workspace, local.store, remote);
  if (isSyncRefusal(state)) return state;
  const { local_position, remote_position, common_position, cursor } = state;
  const last_pull = cursor?.last_pull ?? null;
  return {
    remote: remote.name,
    local_position,
    remote_position,
    replicated_position: common_position,
    tail: local_position - common_position,
    pushed: cursor?.pushed_position === local_position,
    behind: remote_position - common_position,
    last_pull,
    last_push: cursor?.last_push ?? null,
    warning: staleWarning(last_pull, nowMs),
  };
}

function staleWarning(lastPull: string | null, nowMs: number): string | null {
  if (lastPull === null) return 'This workspace has never been pulled from this remote. Run gen sync pull.';
  if (nowMs - Date.parse(lastPull) <= STALE_AFTER_MS) return null;
  return `The last pull was more than an hour ago (${lastPull}): claims may be outdated. Run gen sync pull.`;
}
