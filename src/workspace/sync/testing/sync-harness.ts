import { join } from 'node:path';
import { Coordinator } from '../../../coordinator/coordinator.js';
import type { EventEnvelope } from '../../../core/events/envelope.js';
import { openFileStore } from '../../../stores/file/file-store.js';
import { FolderBlobs } from '../../../stores/file/folder-blobs.js';
import type { ProjectKey } from '../../../stores/store.js';
import type { LocalLog, SyncWorkspace } from '../sync-workspace.js';

export const KEY: ProjectKey = { tenant_id: 'acme', project_id: 'shop' };
export const EDGE = { task_id: 'REQ-F-1#design_code' };
export const OTHER_EDGE = { task_id: 'REQ-F-2#design_code' };
export const agentFields = (agent_id: string) => ({ agent_id, session_id: `s-${agent_id}` });

export const quietOptions = { now_ms: Date.parse('2026-01-04T06:00:00Z'), onStep: () => {} };

/** A workspace's log in a folder, opened as a new process would. */
export function syncWorkspaceIn(folder: string): SyncWorkspace {
  const events = join(folder, 'events');
  return {
    key: KEY,
    events,
    sync_file: join(folder, 'sync.yml'),
    open: async (): Promise<LocalLog> => ({
      store: await openFileStore({ root: events, home: KEY }),
      blobs: new FolderBlobs(events),
    }),
  };
}

/** Works on a workspace while the remote is unreachable. */
export async function workOffline<T>(
  workspace: SyncWorkspace,
  work: (coordinator: Coordinator) => Promise<T>,
): Promise<T> {
  return withLocalLog(workspace, async ({ store, blobs }) => {
    const coordinator = await Coordinator.open({ store, blobs });
    try {
      return await work(coordinator);
    } finally {
      coordinator.close();
    }
  });
}

export async function withLocalLog<T>(
  workspace: SyncWorkspace,
  work: (local: LocalLog) => Promise<T>,
): Promise<T> {
  const local = await workspace.open();
  try {
    return await work(local);
  } finally {
    await local.store.close();
  }
}

export const readWorkspaceLog = (workspace: SyncWorkspace): Promise<EventEnvelope[]> =>
  withLocalLog(workspace, ({ store }) => store.events(KEY, { after: 0, limit: 100_000 }));
