import type { Problem } from '../../coordinator/wire/problem.js';
import type {
  ClaimResult,
  GateResult,
  NoteResult,
  ReleaseResult,
  SubmissionResult,
} from '../../core/contract/claim-replies.js';
import type { AppendResult, ImportedCount } from '../../core/contract/events.js';
import type { EventEnvelope, NewEvent } from '../../core/events/envelope.js';
import type { WorkspaceTexts } from '../../core/methodology/definition/read/workspace-files.js';

type Send<Reply> = (body: Readonly<Record<string, unknown>>) => Promise<Reply | Problem>;

/** The commands by which offline work is pushed. */
interface RemoteCommands {
  readonly claim: Send<ClaimResult>;
  readonly submit: Send<SubmissionResult>;
  readonly release: Send<ReleaseResult>;
  readonly suspend: Send<GateResult>;
  readonly resume: Send<GateResult>;
  readonly review: Send<GateResult>;
  readonly note: Send<NoteResult>;
  readonly append: Send<AppendResult>;
}
export type RemoteCommand = keyof RemoteCommands;

/**
 * The coordinator that a workspace syncs with, reduced to what sync uses: the log and the commands of one project.
 * The coordinator has authority over the log: offline work reaches it as commands, and it decides them.
 *
 * A refusal is a return value. If the coordinator is unreachable, a method rejects with `RemoteUnavailable`.
 */
export interface SyncRemote extends RemoteCommands {
  /** Display name, never with a secret in it. */
  readonly name: string;
  /** Position of the last event; 0 if the project does not exist yet. */
  position(): Promise<number>;
  /** At most `limit` events after position `after`, in order. */
  events(after: number, limit: number): Promise<readonly EventEnvelope[]>;
  /** Null if it does not exist. */
  getBlob(sha256: string): Promise<Uint8Array | null>;
  putBlob(sha256: string, bytes: Uint8Array): Promise<Problem | null>;
  importEvents(events: readonly NewEvent[]): Promise<ImportedCount | Problem>;
  /** Makes the project, if it does not exist yet. */
  create(): Promise<Problem | null>;
  /** Loads a workspace's configuration files. */
  configure(texts: WorkspaceTexts): Promise<Problem | null>;
}

/** A plan without tasks, which is enough to create a project. */
export const EMPTY_PLAN = { tracks: {} };

/** The remote gave no definite reply. The same sync can be repeated, and continues where it stopped. */
export class RemoteUnavailable extends Error {
  override readonly name = 'RemoteUnavailable';
}
