import type { CachedRequest } from '../request-cache.js';
import { REQUEST_WINDOW_MS, type StoredHead } from '../store.js';

/** The state that every transaction of a project updates, which serialises them. */
export type CachedProject = Readonly<typeof EMPTY_PROJECT>;

/** The state before the first transaction. */
export const EMPTY_PROJECT = {
  /** Incremented by every transaction, including those without events. */
  row_version: 0,
  position: 0,
  rules_seq: 0,
  /** The time of the last transaction: the project's time never goes backwards. */
  now_ms: 0,
  /** The latest timestamp of any event so far. */
  time_high_ms: 0,
  /** The largest lag of a timestamp behind the latest one before it. */
  late_max_ms: 0,
  /** The number of buckets whose events are in the index: from the first bucket on, without a gap. */
  indexed_buckets: 0,
};

/** A project's share of a tenant's scope: permits taken, and spare permits reserved for it. */
export interface PermitShare {
  readonly registered: number;
  readonly spare: number;
  /** The shares of all projects together are at most this many permits. */
  readonly room_max: number;
}

/** The limit of a scope in which permits are taken without a limit. */
export const UNLIMITED = Number.POSITIVE_INFINITY;

/** The result of a full count: `spare` permits are free until the first live one expires. */
export interface PermitCount {
  readonly max: number;
  readonly spare: number;
  readonly until_ms: number;
}

const MEMBERS_MAX = 50_000;
const SEQS_MAX = 50_000;

/**
 * Assumptions about a project. They only guide what to try: a transaction carries every assumption it relies on as a
 * condition, and after a failed condition everything is read again. `undefined`: unknown; `null`: known not to exist.
 */
export class ProjectCache {
  project: CachedProject = EMPTY_PROJECT;
  /** Whether everything that the transactions of this commit depend on was read since the commit began. */
  isComplete = false;
  readonly heads = new Map<string, StoredHead | null>();
  /**
   * The seqs of heads that our own transactions swapped or checked. Every transaction of a project increments the version
   * of its row. While the row still has our last version, no head has changed, so none has to be checked again.
   */
  readonly seqs = new Map<string, number>();
  readonly requests = new Map<string, CachedRequest | null>();
  /** Ids of loose events that were written; they are never removed. */
  readonly looseEvents = new Set<string>();
  /** The expiry of each member. */
  readonly members = new Map<string, number | null>();
  readonly shares = new Map<string, PermitShare | null>();
  readonly permitCounts = new Map<string, PermitCount>();

  /** Starts a commit. Keeps state that others may have changed only where a wrong guess costs no more than a retry. */
  begin(): void {
    this.isComplete = false;
    this.heads.clear();
    this.requests.clear();
    this.looseEvents.clear();
    this.permitCounts.clear();
    if (this.members.size > MEMBERS_MAX) this.members.clear();
    if (this.seqs.size > SEQS_MAX) this.seqs.clear();
  }

  /** Sets the row as it was read. If another coordinator changed the row, it may have changed any head. */
  setProject(project: CachedProject): void {
    if (project.row_version !== this.project.row_version) this.seqs.clear();
    this.project = project;
  }

  /** Requests expire by the clock; the database may delete them later. */
  request(key: string, nowMs: number): CachedRequest | null | undefined {
    const request = this.requests.get(key);
    return request != null && request.at_ms < nowMs - REQUEST_WINDOW_MS ? null : request;
  }
}

export const memberName = (scope: string, member: string): string => JSON.stringify([scope, member]);
