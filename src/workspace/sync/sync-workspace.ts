import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';

/** A workspace as far as sync is concerned. */
export interface SyncWorkspace {
  readonly key: ProjectKey;
  /** The folder of its log. */
  readonly events: string;
  /** Where the cursor is kept: `sync.yml`. */
  readonly sync_file: string;
  open(): Promise<LocalLog>;
}

export interface LocalLog {
  readonly store: Store;
  readonly blobs: Blobs;
}

/** Hears of every step, by name: what is interrupted there is gone on with from there. */
export type SyncStepHook = (step: string) => void | Promise<void>;

export interface SyncOptions {
  readonly now_ms: number;
  readonly onStep: SyncStepHook;
}

/** Why nothing was done, or nothing more, and what to do. */
export interface SyncRefusal {
  readonly refused: 'REMOTE_DIFFERS' | 'TAIL_NOT_PUSHED' | 'REMOTE_BROKEN' | 'WRITTEN_MEANWHILE';
  readonly detail: string;
}

export const isSyncRefusal = (reply: object): reply is SyncRefusal => 'detail' in reply && 'refused' in reply;
