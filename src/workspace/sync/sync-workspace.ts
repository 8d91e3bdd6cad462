import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';

/** The part of a workspace that sync uses. */
export interface SyncWorkspace {
  readonly key: ProjectKey;
  /** The log's folder. */
  readonly events: string;
  /** The path of `sync.yml`, which holds the cursor. */
  readonly sync_file: string;
  open(): Promise<LocalLog>;
}

export interface LocalLog {
  readonly store: Store;
  readonly blobs: Blobs;
}

/** Called before every step. A sync interrupted there continues from there. */
export type SyncStepHook = (step: string) => void | Promise<void>;

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
