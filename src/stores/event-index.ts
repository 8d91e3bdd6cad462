import { type EventEnvelope, msOf } from '../core/events/envelope.js';
import { type ChainPage, type ChainState, PositionChain } from './position-chain.js';
import type { EventQuery } from './store.js';
import { TimeIndex } from './time-index.js';

/** The serialised form of an index. The `owners` arrays are views of its memory; events added later do not change them. */
export interface EventIndexState extends Readonly<Record<'subjects' | 'sessions', ChainState>> {
  readonly times: Float64Array;
}

/** The fields that are indexed. */
export type IndexedEvent = Pick<EventEnvelope, 'subject' | 'session_id' | 'timestamp'>;

/** Number of positions that a search reads from an index at a time. */
const CANDIDATES_PAGE = 256;

/** An index of events by subject, session and time. It keeps no events; it takes sixteen bytes per event, plus the names. */
export class EventIndex {
  private subjects = new PositionChain();
  private sessions = new PositionChain();
  private times = new TimeIndex();
  /** The position of the last event added. */
  position = 0;

  add(position: number, { subject, session_id, timestamp }: IndexedEvent): void {
    if (position !== this.position + 1) {
      throw new Error(`The event index is at ${this.position} and cannot continue with ${position}.`);
    }
    this.position = position;
    this.subjects.add(subject);
    this.sessions.add(session_id);
    this.times.add(msOf(timestamp));
  }

  /** Positions, ascending. */
  bySubject(subject: string, page: ChainPage): number[] {
    return this.subjects.page(subject, page);
  }

  /** Positions, ascending. */
  bySession(sessionId: string, page: ChainPage): number[] {
    return this.sessions.page(sessionId, page);
  }

  /** A page of ascending positions of the events that can match the query. Uses an index if one applies. */
  page({ subject, session_id, since, until }: EventQuery, page: ChainPage): number[] {
    if (subject !== undefined) return this.bySubject(subject, page);
    if (session_id !== undefined) return this.bySession(session_id, page);
    const sinceMs = since === undefined ? Number.NEGATIVE_INFINITY : msOf(since);
    const untilMs = until === undefined ? Number.POSITIVE_INFINITY : msOf(until);
    const { until_position = this.position } = page;
    if (since !== undefined || until !== undefined)
      return this.times.page({ sinceMs, untilMs }, { ...page, until_position });
    const length = Math.max(0, Math.min(page.limit, Math.min(until_position, this.position) - page.after));
    return Array.from({ length }, (_, index) => page.after + 1 + index);
  }

  /** Every position that a search has to read, ascending, from the query's first position to its last. */
  *candidates(query: EventQuery): Iterable<number> {
    const until_position = Math.min(query.until_position ?? this.position, this.position);
    const pageAfter = (after: number): number[] =>
      this.page(query, { after, until_position, limit: CANDIDATES_PAGE });
    let page = pageAfter(query.after);
    while (page.length > 0) {
      yield* page;
      page = pageAfter(page.at(-1) as number);
    }
  }

  exportState(): EventIndexState {
    return {
      subjects: this.subjects.exportState(),
      sessions: this.sessions.exportState(),
      times: this.times.exportState(),
    };
  }

  static fromState({ subjects, sessions, times }: EventIndexState): EventIndex {
    if (subjects.owners.length !== sessions.owners.length) {
      throw new Error('The event index is damaged: its lists of subjects and of sessions differ in length.');
    }
    const index = new EventIndex();
    index.subjects = PositionChain.fromState(subjects);
    index.sessions = PositionChain.fromState(sessions);
    index.times = TimeIndex.fromState(times, subjects.owners.length);
    index.position = subjects.owners.length;
    return index;
  }
}
