import type { Problem } from '../../coordinator/problem.js';
import type { ImportedCount } from '../../coordinator/transfer/imported-events.js';
import type * as wire from '../../coordinator/wire.js';
import type { EventEnvelope, NewEvent } from '../../core/events/envelope.js';

type CommandBody = Readonly<Record<string, unknown>>;

/**
 * The coordinator that a workspace is in step with, as far as that takes one: its log and its commands, in one project.
 * It is the authority; what a workspace did by itself reaches it as commands, and it decides.
 *
 * A refusal is a value. Where the coordinator cannot be reached, a member rejects with `RemoteUnavailable`.
 */
export interface SyncRemote {
  /** What people call it: never with a secret in it. */
  readonly name: string;
  /** Of the last event; 0 where the project is not there yet. */
  position(): Promise<number>;
  /** In order, at most `limit`, from the one after `after` on. */
  events(after: number, limit: number): Promise<readonly EventEnvelope[]>;
  /** Null: it is not there. */
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
  /** What the files of a workspace say of the project. */
  configure(files: ReadonlyMap<string, string>): Promise<Problem | null>;
}

/** Nobody answered, or nobody who knows: run the same again, and it goes on where it was. */
export class RemoteUnavailable extends Error {
  override readonly name = 'RemoteUnavailable';
}
