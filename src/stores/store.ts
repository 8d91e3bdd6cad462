import type { EventDraft, EventEnvelope, NewEvent } from '../core/events/envelope.js';

/**
 * Where heads and events live. A store knows nothing of claims: it swaps heads whose `seq` has not moved,
 * appends events, counts who occupies a scope, remembers requests, and tells the time.
 *
 * Every member that returns a promise may reject with `StoreUnavailable` (nothing happened, try again), `StoreUncertain`
 * (a commit whose outcome could not be learned), `LogDamaged` (nothing happened: what is kept of this tenant is not what
 * was written) or `StoreBroken` (this store object is finished); opening one may reject with `StoreRefused`. Anything
 * else thrown is a bug.
 */
export interface Store {
  readonly capabilities: StoreCapabilities;

  /**
   * Applies units in the order given; each is all or nothing, and sees what the units before it did.
   * One outcome per unit, in the same order. Whatever an outcome tells is durable when the promise resolves,
   * including the heads that a conflict shows.
   */
  commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]>;

  /** Heads as the last durable commit left them, in the order asked; null where there is none yet. */
  heads(project: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]>;

  /** All heads of a project in the order of their subjects, code unit by code unit, a page at a time. */
  scanHeads(project: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]>;

  /** Events in the order of their positions. `after` 0 starts at the beginning. */
  events(project: ProjectKey, query: EventQuery): Promise<EventEnvelope[]>;

  /**
   * Retention: from now on these events, all of them written long ago, say less. Only payloads differ from what is
   * there, each by fields that are gone; places, envelopes and heads stay what they were. Durable when it resolves, and
   * may be done again. Where it was cut short, some of them say less and the others do not.
   *
   * A `HISTORY_FORGOTTEN` event with the digest of what is left of each is committed before: a store that checks what it
   * reads takes a shortened payload without one for damage.
   */
  redact(project: ProjectKey, events: readonly EventEnvelope[]): Promise<void>;

  /** Where the project stands; null when nothing was ever written to it. */
  project(project: ProjectKey): Promise<ProjectRow | null>;

  /** The projects of a tenant, by name. */
  projects(tenantId: string): Promise<string[]>;

  /** How many members of a scope are live at the store's time. */
  countPermits(tenantId: string, scope: string): Promise<number>;

  /** The store's clock. */
  now(): Promise<number>;

  /** What belongs to the store as a whole; made when it is first opened. */
  meta(): Promise<StoreMeta>;

  /** Every tenant of which something is kept, by name. Absent where the store cannot tell without reading everything. */
  tenantIds?(): Promise<string[]>;

  /** The damage found so far. Absent: this store does not check what it reads. */
  damage?(): readonly FoundDamage[];

  /** The store that keeps a tenant, where tenants have stores of their own. Absent: this one keeps them all. */
  storeOf?(tenantId: string): Promise<Store>;

  /** Writes what must be written, and lets go of everything. Idempotent. */
  close(): Promise<void>;
  /** Resolves when this object serves nobody any more and the store has to be opened anew, where that can happen. */
  readonly finished?: Promise<StoreBroken>;
}

export interface StoreCapabilities {
  readonly name: string;
  /** `process`: the clock of the one process that writes. `store`: the engine's. `coordinator`: the caller's, plus a margin. */
  readonly clock: 'process' | 'store' | 'coordinator';
  /** At most one coordinator at a time: its view is never behind. */
  readonly single_writer: boolean;
  readonly durable: boolean;
  /** How many commits of one project may usefully be under way at once: more would only wait for each other. */
  readonly commits_at_once: number;
  readonly note?: string;
  /**
   * Set where another program than the coordinator may have written the store's files, as git does in a workspace. `log`:
   * the events may come from elsewhere. `secret`: the secret may be known to others, so that it proves nothing.
   */
  readonly untrusted_files?: UntrustedFiles;
}

export type UntrustedFiles = 'log' | 'secret';

export interface StoreMeta {
  /** Raised whenever history may have been lost: handles of an older incarnation are refused. */
  readonly incarnation: number;
  /** 32 random bytes, hex: claim ids are derived with it, and keys are bound to it. */
  readonly secret: string;
}

export interface ProjectKey {
  readonly tenant_id: string;
  readonly project_id: string;
}

export interface ProjectRow {
  /** The position of the last event. */
  readonly position: number;
  /** +1 with every unit that changed the rules. */
  readonly rules_seq: number;
}

/** Opaque to the store but for its subject and seq. */
export interface StoredHead {
  readonly subject: string;
  readonly seq: number;
}

export interface HeadSwap {
  readonly subject: string;
  /** The seq the head must have; 0: there must be none. */
  readonly expected_seq: number;
  /** The head afterwards; its seq is `expected_seq + events.length`. */
  readonly head: StoredHead;
  /** At least one, with the seqs `expected_seq + 1 …`. */
  readonly events: readonly NewEvent[];
}

export interface HeadCheck {
  readonly subject: string;
  readonly expected_seq: number;
}

/** A request that must take effect once. The key carries the principal; it is remembered within its project. */
export interface RequestRecord {
  readonly key: string;
  /** Of the command's body: the same key with another digest is the caller's mistake. */
  readonly digest: string;
  /** Remember it with this unit. False: only ask whether it is known. */
  readonly keep: boolean;
  /** What the caller needs to answer again, beside the events; small. */
  readonly reply?: unknown;
}

/**
 * `until_ms` null frees the place; `Infinity` keeps it until it is freed. A place belongs to the project that took it.
 * Places that a unit frees make room for those it takes; of two words about one member the last stands.
 */
export interface Permit {
  readonly scope: string;
  readonly member: string;
  readonly until_ms: number | null;
}

export interface PermitLimit {
  readonly scope: string;
  readonly max: number;
}

/** A unit without events may still remember a request, move slots or change the rules. */
export interface Transaction extends ProjectKey {
  readonly swaps: readonly HeadSwap[];
  readonly checks: readonly HeadCheck[];
  /** The rules the unit was decided under; a project that has moved on is a conflict. Null: whatever they are. */
  readonly rules_seq: number | null;
  /** The unit changes the rules: `rules_seq` grows by one with it. */
  readonly changes_rules: boolean;
  readonly requests: readonly RequestRecord[];
  /** Events without a head, put once: one whose `event_id` is there already is left out, and that is no conflict. */
  readonly loose_events: readonly NewEvent[];
  readonly permits: readonly Permit[];
  /** A unit that would make a member of the scope live, and with it more than `max`, is `full`. */
  readonly permit_limits: readonly PermitLimit[];
  /** Compared with the store's clock once nothing else can come between: `early` before it. */
  readonly not_before_ms: number | null;
  /** `late` at or after it. */
  readonly not_after_ms: number | null;
}

/** In the order in which a store looks: the first that applies is the outcome. */
export type CommitOutcome =
  | { readonly kind: 'replay'; readonly request: CompletedRequest; readonly now_ms: number }
  | {
      readonly kind: 'conflict';
      /** The heads that are there, of every swap and check of the unit, in that order. */
      readonly heads: readonly { readonly subject: string; readonly head: StoredHead | null }[];
      readonly rules_seq: number;
      readonly now_ms: number;
    }
  | { readonly kind: 'early'; readonly now_ms: number }
  | { readonly kind: 'late'; readonly now_ms: number }
  | { readonly kind: 'full'; readonly scope: string; readonly now_ms: number }
  | {
      readonly kind: 'committed';
      /** Positions of the unit's events: swaps in order, then notes; null for a note that was there. */
      readonly positions: readonly (number | null)[];
      readonly rules_seq: number;
      readonly now_ms: number;
    };

export interface CompletedRequest {
  readonly key: string;
  readonly digest: string;
  readonly reply: unknown;
  /** Positions of the events the request led to. */
  readonly positions: readonly number[];
}

/** Every field narrows; `since` is included, `until` is not. A store answers `subject` and `session_id` from an index; it may scan for the rest. */
export interface EventQuery {
  readonly after: number;
  readonly limit: number;
  /** Nothing beyond this position. */
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

/** How a store that keeps only events rebuilds its heads. */
export type FoldHead = (before: StoredHead | null, event: EventDraft) => StoredHead;

/** How long a request is remembered at least, and how many at most. */
export const REQUEST_WINDOW_MS = 24 * 3600 * 1000;
export const REQUESTS_MAX = 1_000_000;

/** Where a log is not what was written. */
export interface LogDamage extends ProjectKey {
  /** Relative to the store's root, so that a caller may see it: where the store lies is for its operator. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly why: string;
}

/** Damage that a store has met. */
export interface FoundDamage extends LogDamage {
  /** Whether the tenant is served all the same, but for what would have to be read from there. */
  readonly isServed: boolean;
}

/** Nothing happened, and nothing will until a person puts the file back. Other tenants of the store are served. */
export class LogDamaged extends Error {
  override readonly name = 'LogDamaged';

  constructor(readonly damage: LogDamage) {
    super(
      `${damage.file}, line ${damage.line}: ${damage.why}. This was durable before, so it is damage and not the trace ` +
        'of a crash. Nothing was changed. Put the file back from a copy, check it with gen verify, then start again.',
    );
  }
}

/** Nothing happened, and it may work again in a moment. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The store cannot go on: what it wrote last may or may not be there. Stop, and open it anew. */
export class StoreBroken extends Error {
  override readonly name = 'StoreBroken';
}

/** It may have happened, or may still happen, once: ask again with the same request id. Only a commit rejects with it. */
export class StoreUncertain extends Error {
  override readonly name = 'StoreUncertain';
}

/** The engine cannot be used as it is configured: its message says what is wrong and what to do, for a person to read. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
