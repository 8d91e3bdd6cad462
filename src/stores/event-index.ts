import { type ChainPage, type ChainState, PositionChain } from './position-chain.js';
import type { EventQuery } from './store.js';

/** The serialised form of an index. The `owners` arrays are views: write or copy them before adding events. */
export type EventIndexState = Readonly<Record<'subjects' | 'sessions', ChainState>>;

/** Number of positions that a search reads from a chain at a time. */
const CANDIDATES_PAGE = 256;

/** An index of events by subject and by session. It keeps no events: sixteen bytes per event, plus the names. */
export class EventIndex {
  private subjects = new PositionChain();
  private sessions = new PositionChain();
  /** The position of the last event added. */
  position = 0;

  add(position: number, subject: string | undefined, sessionId: string | undefined): void {
    if (position !== this.position + 1) {
      throw new Error(`The event index is at ${this.position} and cannot continue with ${position}.`);
    }
    this.position = position;
    this.subjects.add(subject);
    this.sessions.add(sessionId);
  }

  /** Positions, ascending. */
  bySubject(subject: string, page: ChainPage): number[] {
    return this.subjects.page(subject, page);
  }

  /** Positions, ascending. */
  bySession(sessionId: string, page: ChainPage): number[] {
    return this.sessions.page(sessionId, page);
  }

  /** Ascending positions that include every match of the query; narrowed by an index where one applies. */
  *candidates({ subject, session_id, ...query }: EventQuery): Iterable<number> {
    const until_position = Math.min(query.until_position ?? this.position, this.position);
    const pageAfter = (after: number): number[] => {
      const page = { after, until_position, limit: CANDIDATES_PAGE };
      if (subject !== undefined) return this.bySubject(subject, page);
      if (session_id !== undefined) return this.bySession(session_id, page);
      const length = Math.min(CANDIDATES_PAGE, until_position - after);
      return Array.from({ length }, (_, index) => after + 1 + index);
    };
    let page = pageAfter(query.after);
    while (page.length > 0) {
      yield* page;
      page = pageAfter(page.at(-1) as number);
    }
  }

  exportState(): EventIndexState {
    return { subjects: this.subjects.exportState(), sessions: this.sessions.exportState() };
  }

  static fromState({ subjects, sessions }: EventIndexState): EventIndex {
    if (subjects.owners.length !== sessions.owners.length) {
      throw new Error('The event index is damaged: its two halves differ in length.');
    }
    const index = new EventIndex();
    index.subjects = PositionChain.fromState(subjects);
    index.sessions = PositionChain.fromState(sessions);
    index.position = subjects.owners.length;
    return index;
  }
}
