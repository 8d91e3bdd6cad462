import type { EffectiveCheck } from '../../core/contract/checks.js';
import type { CheckOutcome } from '../../core/engine/check-outcome.js';

/** A throw-away copy of the project with the candidate laid over it. */
export interface WorkCopy {
  readonly folder: string;
  /** Installed dependencies of the project, read-only in the copy: absolute path, and path in the copy. */
  readonly read_only_mounts: readonly { readonly source: string; readonly target: string }[];
  remove(): Promise<void>;
}

export interface CheckLimits {
  readonly timeout_ms: number;
  readonly memory_bytes: number;
  readonly disk_bytes: number;
  readonly output_bytes: number;
  readonly processes: number;
}

export interface CheckRequest {
  readonly check: EffectiveCheck;
  readonly copy: WorkCopy;
  readonly limits: CheckLimits;
  readonly signal: AbortSignal;
}

export interface CheckExecution {
  readonly outcome: CheckOutcome;
  /** The end of the command's output, and the report file, to be stored as blobs. */
  readonly output: Uint8Array;
  readonly report: Uint8Array | null;
}

/** Runs one deterministic check. A failing check is a result. The promise rejects only if `signal` is aborted. */
export type ExecuteCheck = (request: CheckRequest) => Promise<CheckExecution>;
