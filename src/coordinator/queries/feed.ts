import type { EventEnvelope } from '../../core/events/envelope.js';
import type { EventQuery, ProjectKey, Store } from '../../stores/store.js';
import { cursorAhead, cursorAt, positionOf } from '../cursor.js';
import type { Environment } from '../environment.js';
import { problem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import { type Projects, reachable } from '../projects.js';
import { scopeFault } from '../scope.js';
import { PAGE_CHARS_MAX } from './page.js';
import type { ReadTurns } from './read-turns.js';
import { asInTheLog } from './wanted.js';

const PAGE = 1000;
/** How many events are read from the store at a time for a page. */
const PART = 250;

export interface EventFilter {
  after?: string;
  limit?: number;
  type?: string;
  task_id?: string;
  feature_id?: string;
  edge?: string;
  agent_id?: string;
  session_id?: string;
  since?: string;
  until?: string;
}

/** The events of a project, page by page or as they come. */
export class EventFeed {
  constructor(
    private readonly projects: Projects,
    private readonly store: Store,
    private readonly turns: ReadTurns,
    private readonly environment: Pick<Environment, 'breathe'>,
  ) {}

  async page(key: ProjectKey, filter: EventFilter = {}): Reply<{ events: EventEnvelope[]; next: string }> {
    const fault = scopeFault(key);
    if (fault !== null) return fault;
    const after = positionOf(filter.after ?? '');
    if (after === null) {
      const message = 'expected a cursor that this server gave';
      return problem('INVALID_REQUEST', `after: ${message}`, [{ path: 'after', message }]);
    }
    const { after: _, limit = 100, type, ...rest } = asInTheLog(filter);
    const query: EventQuery = {
      ...rest,
      ...(type === undefined ? {} : { types: [type] }),
      after,
      limit: Math.min(Math.max(limit, 1), PAGE),
    };
    const readPage = async () => {
      const events = await this.read(key, query);
      const end = events.length === 0 ? await this.endBefore(key, after) : null;
      if (end !== null) return cursorAhead('after', after, end);
      return { events, next: cursorAt(events.at(-1)?.position ?? after) };
    };
    return reachable(() => this.turns.take(key.tenant_id, readPage));
  }

  /** Where the log ends, if that is before the position; null: the position is in the log. */
  private async endBefore(key: ProjectKey, position: number): Promise<number | null> {
    const end = (await this.store.project(key))?.position ?? 0;
    if (end >= position) return null;
    // Some stores show an event a moment before they show that the project has moved.
    const [last] = await this.store.events(key, { after: position - 1, until_position: position, limit: 1 });
    return last === undefined ? end : null;
  }

  /** As many events as fit into one reply; others are served between any two parts. */
  private async read(key: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    const events: EventEnvelope[] = [];
    let chars = 0;
    while (events.length < query.limit && chars < PAGE_CHARS_MAX) {
      const limit = Math.min(query.limit - events.length, PART);
      const part = await this.store.events(key, {
        ...query,
        after: events.at(-1)?.position ?? query.after,
        limit,
      });
      for (const event of part) {
        if (chars >= PAGE_CHARS_MAX) break;
        events.push(event);
        chars += JSON.stringify(event.payload).length;
      }
      if (part.length < limit) break;
      await this.environment.breathe();
    }
    return events;
  }

  /**
   * From a cursor on, for as long as the caller listens: every event once, in order, across restarts, since what it
   * yields is always read from the log by position. Ends at once where the cursor is beyond the end of the log.
   */
  async *follow(
    key: ProjectKey,
    cursor: string,
    signal: AbortSignal,
  ): AsyncGenerator<{ event: EventEnvelope; cursor: string }> {
    if (scopeFault(key) !== null) return;
    try {
      const project = await this.projects.enter(key);
      let position = positionOf(cursor) ?? 0;
      if ((await this.endBefore(key, position)) !== null) return;
      while (!signal.aborted) {
        const events = await this.store.events(key, { after: position, limit: PAGE });
        for (const event of events) {
          if (signal.aborted) return;
          position = event.position;
          yield { event, cursor: cursorAt(position) };
        }
        if (events.length === 0 && !signal.aborted) await movedBeyond(project, position, signal);
      }
    } finally {
      this.projects.leave(key);
    }
  }
}

function movedBeyond(project: Project, position: number, signal: AbortSignal): Promise<void> {
  if (project.state.position > position) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = project.moved.once(done);
    signal.addEventListener('abort', done, { once: true });
    function done() {
      stop();
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
