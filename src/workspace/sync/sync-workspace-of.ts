import { readProjectKey } from '../project-file.js';
import { openWorkspaceStore } from '../store.js';
import type { Workspace } from '../workspace.js';
import type { SyncWorkspace } from './sync-workspace.js';

const SYNC_FILE = 'sync.yml';

/** Adapts a workspace for sync. */
export async function syncWorkspaceOf(
  workspace: Workspace,
  warn: (sentence: string) => void,
): Promise<SyncWorkspace> {
  return {
    key: await readProjectKey(workspace),
    events: workspace.events,
    sync_file: workspace.path(SYNC_FILE),
    open: () => openWorkspaceStore(workspace, warn),
  };
}
