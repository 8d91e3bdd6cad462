import type { ImportedCount } from '../../coordinator/transfer/imported-events.js';
import type * as wire from '../../coordinator/wire/index.js';
import type { Problem } from '../../coordinator/wire/problem.js';
import type { EventEnvelope, NewEvent } from '../../core/events/envelope.js';

type CommandBody = Readonly<Record<string, unknown>>;

/**
 * The coordinator that a workspace syncs with, reduced to what sync uses: the log and the commands of one project.
 * It is the authority: offline work reaches it as commands, and it decides.
 *
 * A refusal is a return value. If the coordinator is unreachable, a method rejects with `RemoteUnavailable`.
 */
export interface SyncRemote {
  /** Display name, never with a secret in it. */
  readonly name: string;
  /** Position of the last event; 0 if the project does not exist yet. */
  position(): Promise<number>;
  /** At most `limit` events after position `after`, in order. */
  events(after: number, limit: number): Promise<readonly EventEnvelope[]>;
  /** Null if it does not exist. */
  getBlob(sha256: string): Promise<Uint8Array | null>;
  putBlob(sha256: string, bytes: Uint8Array): Promise<Problem | null>;
  claim(body: CommandBody): Promise<wire.ClaimResult | Problem>;
  submit(body: CommandBody): Promise<wire.SubmissionResult | Problem>;
  release(body: CommandBody): Promise<wire.ReleaseResult | Problem>;
  suspend(body: CommandBody): Promise<wire.GateResult | Problem>;
  resume(body: CommandBody): Promise<wire.GateResult | Problem>;
  review(body: CommandBody): Promise<wire.GateResult | Problem>;
  note(body: CommandBody): Promise<wire.ReleaseResult | Problem>;
  append(body: CommandBody): Promise<wire.AppendResult | Problem>;
  importEvents(events: readonly NewEvent[]): Promise<ImportedCount | Problem>;
  /** Loads a workspace's configuration files. */
  configure(files: ReadonlyMap<string, string>): Promise<Problem | null>;
}

/** No definite reply. The same operation can be repeated, and continues where it stopped. */
export class RemoteUnavailable extends Error {
  override readonly name = 'RemoteUnavailable';
}
