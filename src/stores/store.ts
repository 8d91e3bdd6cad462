import type { EventDraft, EventEnvelope, NewEvent } from '../core/events/envelope.js';
import type { HeadTable } from '../core/heads/head-table.js';

/**
 * Storage for heads and events. A store knows nothing about claims: it swaps heads whose `seq` has not moved, appends
 * events, counts the permits of a scope, remembers requests, and provides the time.
 *
 * Every member that returns a promise may reject with `StoreUnavailable` (nothing happened, retry), `StoreUncertain`
 * (the outcome of a commit is unknown), `LogDamaged` (nothing happened: the stored data of this tenant is not what was
 * written) or `StoreBroken` (this store object is unusable). Opening a store may reject with `StoreRefused`. Any other
 * error is a bug.
 */
export interface Store {
  readonly capabilities: StoreCapabilities;

  /**
   * Applies transactions in the given order. Each is atomic and sees the effects of those before it. Returns one
   * outcome per transaction, in the same order. Everything an outcome reports is durable when the promise resolves,
   * including the heads that a conflict returns.
   */
  commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]>;

  /** The last durable heads, in the requested order; null for a subject without a head. */
  heads(projectKey: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]>;

  /** All heads of a project, ordered by subject in code-unit order, one page at a time. */
  scanHeads(projectKey: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]>;

  /** Events ordered by position. `after` 0 starts at the beginning. */
  events(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]>;

  /**
   * Retention: replaces the payloads of old events with reduced ones. Only payloads change, and they only lose fields;
   * positions, envelopes and heads stay the same. Durable when the promise resolves, and idempotent. If it is
   * interrupted, some of the payloads are reduced and the others are not.
   *
   * A `HISTORY_FORGOTTEN` event with the digest of each remaining payload must be committed first: a store that
   * verifies what it reads treats a reduced payload without such an event as damage.
   */
  redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void>;

  /** The project whose log is in the root of the store, as in a workspace. It can be used before its first event. */
  readonly home?: ProjectKey | undefined;

  /** The project's position and rules; null if nothing was ever written to it. */
  project(projectKey: ProjectKey): Promise<ProjectRow | null>;

  /** The projects of a tenant, sorted by name. */
  projects(tenantId: string): Promise<string[]>;

  /** The number of live members of a scope at the store's time. */
  countPermits(tenantId: string, scope: string): Promise<number>;

  /**
   * The projects in which a permit `on_head` has ended at the store's time and was not released, the earliest first.
   * Reads an index and loads no project. Absent: the store has no such index.
   */
  dueProjects?(limit: number): Promise<ProjectKey[]>;

  /**
   * The projects with a permit `on_head` that has not been released, even if it has ended: those in which a lease may end
   * or has ended unrecorded. One page at a time, in an order that the store chooses; `after` is the last project of the
   * previous page. In a database the cost depends on the number of such projects, not on how many others there are.
   */
  projectsWithPermits(page: ProjectsWithPermitsPage): Promise<ProjectKey[]>;

  /** The time of the store's clock. */
  now(): Promise<number>;

  /** Metadata of the store as a whole, created when the store is first opened. */
  meta(): Promise<StoreMeta>;

  /**
   * Raises the incarnation to this number, durably, and returns the metadata; a lower number changes nothing. Only an
   * operator does this: other coordinators read the new incarnation only when they open the store again.
   */
  raiseIncarnation(incarnation: number): Promise<StoreMeta>;

  /**
   * The tenants with stored data, sorted by name. A store without a list of them may leave out those that never had a
   * permit `on_head`. The cost depends on the number of tenants or projects, not on how many events they have.
   */
  tenantIds(): Promise<string[]>;

  /** The damage found so far. Absent: this store does not verify what it reads. */
  damage?(): readonly FoundDamage[];

  /** The store of a tenant, if tenants have separate stores. Absent: this store holds all tenants. */
  storeOf?(tenantId: string): Promise<Store>;

  /** Writes pending data and releases all resources. Idempotent. */
  close(): Promise<void>;
  /** Resolves when this object becomes unusable and the store must be reopened. Absent: that cannot happen. */
  readonly broken?: Promise<StoreBroken>;
}

/**
 * A store with one writer process. The state of a project lives in that process, so a transaction is decided and
 * applied at once; the log makes it durable.
 */
export interface LogStore extends Store {
  /** The log of a project, for its only writer. */
  openLog(projectKey: ProjectKey): Promise<WritableLog>;
  /** Imports whole lines that other programs have appended to the log. Resolves to whether it imported any. */
  importForeignLines?(projectKey: ProjectKey): Promise<boolean>;
}

export interface WritableLog {
  /** The position of the last event applied, durable or not. */
  readonly position: number;
  readonly rules_seq: number;
  /** The heads after everything applied, durable or not: the log's own table, which every commit changes. */
  readonly heads: HeadTable;
  /** Number of failed writes. After each, what was not durable is gone, and the state was read from the log again. */
  readonly reload_count: number;

  now(): number;

  /**
   * Decides a transaction, and changes the state at once if the outcome is `committed`. The outcome may be reported when
   * `durable` resolves. Throws what `Store.commit` rejects with; then nothing happened.
   */
  apply(transaction: Transaction, nowMs: number): CommitOutcome;

  /**
   * Applies a step at once, like a transaction that has only this swap. The caller decided it on the heads of this log, in
   * the same turn of the event loop. Returns the promise of the write that makes the step durable; several steps may share
   * a write. Null: nothing changed, and the caller must apply the step as a transaction. Absent: the caller always does so.
   */
  applyStep?(step: LogStep, nowMs: number): Promise<void> | null;

  /** Resolves when everything applied so far is durable. Rejects if some of it is lost. */
  durable(): Promise<void>;

  /** Receives the hashes of events that have become durable, to save reading the events. Some events may be left out. */
  set onDurable(listener: DurableListener | null);
}

/** One event and what it changes: the most frequent kind of transaction, without its lists of swaps and checks. */
export interface LogStep {
  readonly event: NewEvent;
  /** The head after the event. */
  readonly head: StoredHead;
  readonly permits: readonly Permit[];
  readonly permit_limits: readonly PermitLimit[];
  readonly request: LoggedRequest | null;
}

/**
 * Receives the hashes of consecutive events, the leaves of the audit tree (core/audit/leaf.ts), once the events are
 * durable. Each hash is a string of 32 characters, one per byte, which costs less than a byte array.
 */
export type DurableListener = (firstPosition: number, leafHashes: readonly string[]) => void;

export const isLogStore = (store: Store): store is LogStore => 'openLog' in store;

export interface StoreCapabilities {
  readonly name: string;
  /** `process`: the clock of the single writer process. `store`: the database's. `coordinator`: the caller's, plus a margin. */
  readonly clock: 'process' | 'store' | 'coordinator';
  /** At most one coordinator at a time, so its view is never stale. */
  readonly single_writer: boolean;
  readonly durable: boolean;
  /** Useful number of concurrent commits per project; more would only wait for each other. */
  readonly commits_at_once: number;
  /** The largest transaction of loose events that this store applies. Absent: `TRANSACTION_SIZE_MAX`. */
  readonly transaction_size_max?: TransactionSize;
  readonly note?: string;
  /**
   * Set if a program other than the coordinator may have written the store's files, as git does in a workspace. `log`:
   * the events may come from elsewhere. `secret`: others may also know the store's secret, so what is derived from the
   * secret proves nothing.
   */
  readonly untrusted_files?: ForeignAccess;
}

export interface TransactionSize {
  readonly events: number;
  /** The size of the events as JSON. */
  readonly bytes: number;
}

/** Every store applies a transaction of this many loose events, unless its capabilities say otherwise. */
export const TRANSACTION_SIZE_MAX: TransactionSize = { events: 10_000, bytes: 8 * 1024 * 1024 };

/** What programs other than the coordinator may write or know: the events, or the store's secret too. */
export type ForeignAccess = 'log' | 'secret';

export interface StoreMeta {
  /** Raised by an operator when history may have been lost; handles of an older incarnation are refused. */
  readonly incarnation: number;
  /** 32 random bytes in hex. Claim ids are derived from it, and keys are bound to it. */
  readonly secret: string;
}

/** The metadata with at least this incarnation. */
export const withRaisedIncarnation = (meta: StoreMeta, incarnation: number): StoreMeta => ({
  ...meta,
  incarnation: Math.max(meta.incarnation, incarnation),
});

export interface ProjectKey {
  readonly tenant_id: string;
  readonly project_id: string;
}

/** `tenant/project`, in messages and as the key of a map. */
export const projectPath = ({ tenant_id, project_id }: ProjectKey): string => `${tenant_id}/${project_id}`;

export interface ProjectsWithPermitsPage {
  readonly after: ProjectKey | null;
  readonly limit: number;
}

export interface ProjectRow {
  /** The position of the last event. */
  readonly position: number;
  /** Incremented by every transaction that changes the rules. */
  readonly rules_seq: number;
}

/** A head as the store sees it: opaque except for its subject and seq. */
export interface StoredHead {
  readonly subject: string;
  readonly seq: number;
}

export interface HeadCheck {
  readonly subject: string;
  /** The seq the head must have; 0: the head must not exist. */
  readonly expected_seq: number;
}

export interface HeadSwap extends HeadCheck {
  /** The new head; its seq is `expected_seq + events.length`. */
  readonly head: StoredHead;
  /** At least one, with the seqs `expected_seq + 1 …`. */
  readonly events: readonly NewEvent[];
}

/** A request that must take effect once. The key includes the principal and is unique within a project. */
export interface RequestRecord {
  readonly key: string;
  /** Digest of the command's body. The same key with another digest is a caller error. */
  readonly digest: string;
  /** True: remember the request with this transaction. False: only look it up. */
  readonly keep: boolean;
  /** What the caller needs, in addition to the events, to repeat the reply. Keep it small. */
  readonly reply?: unknown;
}

/** A request that is remembered, as a log has it. */
export type LoggedRequest = Omit<RequestRecord, 'keep'>;

/**
 * A member's permit in a scope. `until_ms` null releases it; `Infinity` holds it until it is released. It belongs to
 * the project that took it. A permit that a transaction releases is available to the same transaction. If a transaction
 * has several entries for a member of a scope, the last one wins.
 */
export interface Permit {
  readonly scope: string;
  readonly member: string;
  readonly until_ms: number | null;
  /**
   * The member is the subject of a head, and the permit is the only one of that head, so a store may keep it with the
   * head. Set for all permits of a scope or for none. The head exists already, or the same transaction creates it.
   */
  readonly on_head?: true;
}

export interface PermitLimit {
  readonly scope: string;
  readonly max: number;
}

/** An atomic write set. Even without events it may remember a request, take or release permits, or change the rules. */
export interface Transaction extends ProjectKey {
  readonly swaps: readonly HeadSwap[];
  readonly checks: readonly HeadCheck[];
  /** The rules that the transaction was decided under; a conflict if the project's have changed. Null: any. */
  readonly rules_seq: number | null;
  /** The transaction changes the rules and increments `rules_seq`. */
  readonly changes_rules: boolean;
  readonly requests: readonly RequestRecord[];
  /** Events that change no head. One whose `event_id` a loose event of the project has is skipped, which is not a conflict. */
  readonly loose_events: readonly NewEvent[];
  readonly permits: readonly Permit[];
  /** The outcome is `full` if the transaction would make a member of the scope live and exceed `max`. One limit per scope. */
  readonly permit_limits: readonly PermitLimit[];
  /** `early` if the store's clock is before this. Compared when no other write can intervene. */
  readonly not_before_ms: number | null;
  /** `late` if the store's clock is at or after this. */
  readonly not_after_ms: number | null;
}

/** The result of a transaction. Stores check in the order of these kinds; the first that applies is the outcome. */
export type CommitOutcome =
  | { readonly kind: 'replay'; readonly request: CompletedRequest; readonly now_ms: number }
  | {
      readonly kind: 'conflict';
      /** The current heads of every swap, then of every check, in the transaction's order. */
      readonly heads: readonly { readonly subject: string; readonly head: StoredHead | null }[];
      readonly rules_seq: number;
      readonly now_ms: number;
    }
  | { readonly kind: 'early'; readonly now_ms: number }
  | { readonly kind: 'late'; readonly now_ms: number }
  | { readonly kind: 'full'; readonly scope: string; readonly now_ms: number }
  | {
      readonly kind: 'committed';
      /** Positions of the transaction's events: swaps in order, then loose events; null for a loose event that existed. */
      readonly positions: readonly (number | null)[];
      readonly rules_seq: number;
      readonly now_ms: number;
    };

export interface CompletedRequest {
  readonly key: string;
  readonly digest: string;
  readonly reply: unknown;
  /** Positions of the events that the request produced. */
  readonly positions: readonly number[];
}

/**
 * A query for events. Filters combine with AND; `since` is inclusive, `until` exclusive. A store has an index for
 * `subject`, `session_id` and times, and may scan events for the other filters.
 */
export interface EventQuery {
  readonly after: number;
  readonly limit: number;
  /** The last position to return. */
  readonly until_position?: number;
  readonly types?: readonly string[];
  readonly subject?: string;
  readonly task_id?: string;
  readonly feature_id?: string;
  readonly edge?: string;
  readonly agent_id?: string;
  readonly session_id?: string;
  readonly since?: string;
  readonly until?: string;
}

/** Rebuilds heads in a store that keeps only events. */
export type FoldHead = (before: StoredHead | null, event: EventDraft) => StoredHead;

/**
 * How long a project remembers a request at least. Most stores remember at most `REQUESTS_MAX` per project: if there are
 * more, the oldest are forgotten first, however recent they are.
 */
export const REQUEST_WINDOW_MS = 24 * 3600 * 1000;
export const REQUESTS_MAX = 1_000_000;

/** A place where a log differs from what was written. */
export interface LogDamage extends ProjectKey {
  /** Relative to the store's root: callers may see it, but only the operator may know where the store is. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** If several lines are checked together: the last of them. */
  readonly last_line?: number;
  readonly why: string;
}

/** The damaged lines, as a string. */
export const linesText = ({ line, last_line = line }: Pick<LogDamage, 'line' | 'last_line'>): string =>
  line === last_line ? `line ${line}` : `lines ${line} to ${last_line}`;

/** Damage that a store has encountered. */
export interface FoundDamage extends LogDamage {
  /** Whether the tenant is still served, except for data that must be read from the damaged place. */
  readonly isServed: boolean;
}

/**
 * Nothing happened. If a log could not be opened, its tenant stays unavailable until a person restores the file. If only
 * old events are damaged, the tenant is served, except for these events (`FoundDamage.isServed`).
 */
export class LogDamaged extends Error {
  override readonly name = 'LogDamaged';

  constructor(readonly damage: LogDamage) {
    super(
      `${damage.file}, ${linesText(damage)}: ${damage.why}. This was durable before, so it is damage and not the ` +
        'result of a crash. Nothing was changed. Restore the file from a backup, check it with gen verify, then ' +
        'restart the server.',
    );
  }
}

/** Nothing happened; a retry may succeed. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The store cannot continue: its last write may or may not be there. It must be reopened. */
export class StoreBroken extends Error {
  override readonly name = 'StoreBroken';
}

/** The commit may have happened or may still happen, once. Retry with the same request id. Only a commit rejects with it. */
export class StoreUncertain extends Error {
  override readonly name = 'StoreUncertain';
}

/** The storage backend cannot be used as configured, or in its present state. The message explains how to fix it. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
