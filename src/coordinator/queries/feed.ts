import type { EventEnvelope } from '../../core/events/envelope.js';
import type { EventQuery, ProjectKey, Store } from '../../stores/store.js';
import { cursorAt, positionOf } from '../cursor.js';
import { problem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import type { Projects } from '../projects.js';
import { scopeFault } from '../scope.js';
import { asInTheLog } from './wanted.js';

const PAGE = 1000;

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
    const events = await this.store.events(key, query);
    return { events, next: cursorAt(events.at(-1)?.position ?? after) };
  }

  /**
   * From a cursor on, for as long as the caller listens: every event once, in order, across restarts, since what it
   * yields is always read from the log by position.
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
