import type { ProjectKey } from '../../stores/store.js';
import { readProjectKey } from '../project-file.js';
import { openWorkspaceStore, type WorkspaceStore } from '../store.js';
import type { Workspace } from '../workspace.js';
import type { SyncStepHook } from './swap.js';

export type LocalLog = Pick<WorkspaceStore, 'store' | 'blobs'>;

/** The part of a workspace that sync uses. */
export interface SyncWorkspace {
  readonly key: ProjectKey;
  readonly events: string;
  /** The path of `sync.yml`, which holds the cursor. */
  readonly sync_file: string;
  open(): Promise<LocalLog>;
}

export const syncWorkspaceOf = async (
  workspace: Workspace,
  warn: (sentence: string) => void,
): Promise<SyncWorkspace> => ({
  key: await readProjectKey(workspace),
  events: workspace.events,
  sync_file: workspace.path('sync.yml'),
  open: () => openWorkspaceStore(workspace, warn),
});

export interface SyncOptions {
  readonly now_ms: number;
  readonly onStep: SyncStepHook;
}

/** Why sync did nothing or stopped, and what to do next. */
export interface SyncRefusal {
  readonly refused: 'REMOTE_DIFFERS' | 'TAIL_NOT_PUSHED' | 'REMOTE_BROKEN' | 'WRITTEN_MEANWHILE';
  readonly detail: string;
}

export const isSyncRefusal = (reply: object): reply is SyncRefusal => 'detail' in reply && 'refused' in reply;
