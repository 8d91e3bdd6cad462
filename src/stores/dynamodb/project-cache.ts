import type { CachedRequest } from '../request-cache.js';
import { REQUEST_WINDOW_MS, type StoredHead } from '../store.js';

/** What every transaction of a project moves on, and so what makes them one after another. */
export interface ProjectState {
  /** +1 with every transaction, also with those that bring no event. */
  readonly version: number;
  readonly position: number;
  readonly rules_seq: number;
  /** The time of the last transaction: the project's time never runs back. */
  readonly now_ms: number;
  /** The latest timestamp of any event so far. */
  readonly time_high_ms: number;
  /** How far a timestamp ever lay behind the latest one before it. */
  readonly late_max_ms: number;
}

export const EMPTY_PROJECT: ProjectState = {
  version: 0,
  position: 0,
  rules_seq: 0,
  now_ms: 0,
  time_high_ms: 0,
  late_max_ms: 0,
};

/** What a project may take of a tenant's scope without asking: places taken, and places set aside for it. */
export interface PermitShare {
  readonly registered: number;
  readonly spare: number;
  /** The room for which the places were set aside. */
  readonly room_max: number;
}

/** A room of which every place was looked at: so many are left, until the first of them runs out. */
export interface PermitCount {
  readonly max: number;
  readonly spare: number;
  readonly until_ms: number;
}

const MEMBERS_MAX = 50_000;

/**
 * What is believed about a project. It only chooses what to try: a transaction carries every belief it rests on as a
 * condition, and one that fails brings the item that is there. `undefined` is not known, `null` is known not to be.
 */
export class ProjectCache {
  private state: ProjectState = EMPTY_PROJECT;
  /** Whether the state was read, or held, since the commit began. */
  isFresh = false;
  readonly heads = new Map<string, StoredHead | null>();
  readonly requests = new Map<string, CachedRequest | null>();
  /** Notes that were put: they stay. */
  readonly looseEvents = new Set<string>();
  /** Until when members are there. */
  readonly members = new Map<string, number | null>();
  readonly shares = new Map<string, PermitShare | null>();
  readonly permitCounts = new Map<string, PermitCount>();

  get project(): ProjectState {
    return this.state;
  }

  /** A commit begins. What others may have changed meanwhile is kept where a wrong guess only costs another try. */
  begin(): void {
    this.isFresh = false;
    this.heads.clear();
    this.requests.clear();
    this.looseEvents.clear();
    this.permitCounts.clear();
    if (this.members.size > MEMBERS_MAX) this.members.clear();
  }

  /** Somebody else's transaction came between: what was learnt before it may no longer be so. */
  setProject(state: ProjectState): void {
    if (state.version !== this.state.version) {
      this.heads.clear();
      this.requests.clear();
    }
    this.state = state;
    this.isFresh = true;
  }

  /** Our own transaction moved the project on; what else is known still holds. */
  setOwnProject(state: ProjectState): void {
    this.state = state;
    this.isFresh = true;
  }

  /** Requests are forgotten by the clock; the engine may take its time to delete them. */
  request(key: string, nowMs: number): CachedRequest | null | undefined {
    const request = this.requests.get(key);
    return request != null && request.at_ms < nowMs - REQUEST_WINDOW_MS ? null : request;
  }
}

export const memberName = (scope: string, member: string): string => JSON.stringify([scope, member]);
