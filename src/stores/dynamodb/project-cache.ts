import type { CachedRequest } from '../request-cache.js';
import { REQUEST_WINDOW_MS, type StoredHead } from '../store.js';

/** The state that every transaction of a project updates, which serialises them. */
export interface CachedProject {
  /** Incremented by every transaction, including those without events. */
  readonly version: number;
  readonly position: number;
  readonly rules_seq: number;
  /** The time of the last transaction: the project's time never runs back. */
  readonly now_ms: number;
  /** The latest timestamp of any event so far. */
  readonly time_high_ms: number;
  /** The largest lag of a timestamp behind the latest one before it. */
  readonly late_max_ms: number;
}

export const EMPTY_PROJECT: CachedProject = {
  version: 0,
  position: 0,
  rules_seq: 0,
  now_ms: 0,
  time_high_ms: 0,
  late_max_ms: 0,
};

/** A project's share of a tenant's scope: permits taken, and spare permits reserved for it. */
export interface PermitShare {
  readonly registered: number;
  readonly spare: number;
  /** The limit under which the spare permits were reserved. */
  readonly room_max: number;
}

/** The result of a full count: `spare` permits are free until the first live one expires. */
export interface PermitCount {
  readonly max: number;
  readonly spare: number;
  readonly until_ms: number;
}

const MEMBERS_MAX = 50_000;

/**
 * What is assumed about a project. It only guides what to try: a transaction carries every assumption it relies on as a
 * condition, and a failed condition returns the existing item. `undefined`: unknown; `null`: known not to exist.
 */
export class ProjectCache {
  private state: CachedProject = EMPTY_PROJECT;
  /** Whether the state was read or confirmed since the commit began. */
  isFresh = false;
  readonly heads = new Map<string, StoredHead | null>();
  readonly requests = new Map<string, CachedRequest | null>();
  /** Ids of loose events that were written; they are never removed. */
  readonly looseEvents = new Set<string>();
  /** The expiry of each member. */
  readonly members = new Map<string, number | null>();
  readonly shares = new Map<string, PermitShare | null>();
  readonly permitCounts = new Map<string, PermitCount>();

  get project(): CachedProject {
    return this.state;
  }

  /** Starts a commit. Keeps state that others may have changed only where a wrong guess costs no more than a retry. */
  begin(): void {
    this.isFresh = false;
    this.heads.clear();
    this.requests.clear();
    this.looseEvents.clear();
    this.permitCounts.clear();
    if (this.members.size > MEMBERS_MAX) this.members.clear();
  }

  /** Sets the state read from the engine. If another process has changed it, heads and requests may be stale. */
  setProject(state: CachedProject): void {
    if (state.version !== this.state.version) {
      this.heads.clear();
      this.requests.clear();
    }
    this.state = state;
    this.isFresh = true;
  }

  /** Sets the state after our own transaction; everything else cached still holds. */
  setOwnProject(state: CachedProject): void {
    this.state = state;
    this.isFresh = true;
  }

  /** Requests expire by the clock; the engine may delete them later. */
  request(key: string, nowMs: number): CachedRequest | null | undefined {
    const request = this.requests.get(key);
    return request != null && request.at_ms < nowMs - REQUEST_WINDOW_MS ? null : request;
  }
}

export const memberName = (scope: string, member: string): string => JSON.stringify([scope, member]);
