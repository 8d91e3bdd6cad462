import type { EventEnvelope } from '../../core/events/envelope.js';
import { emptyProject, evolveProject, type ProjectState } from '../../core/views/index.js';
import type { EventQuery, ProjectKey, Store } from '../../stores/store.js';

const PAGE = 1000;
const EVENTS_MAX = 100_000;

/** What the log says, read page by page. */
export class History {
  constructor(private readonly store: Store) {}

  /** Everything that ever happened to a subject, oldest first. */
  of(key: ProjectKey, subject: string): Promise<EventEnvelope[]> {
    return this.read(key, { subject });
  }

  async read(key: ProjectKey, filter: Partial<EventQuery>): Promise<EventEnvelope[]> {
    const all: EventEnvelope[] = [];
    for (let after = 0; all.length < EVENTS_MAX; ) {
      const events = await this.store.events(key, { ...filter, after, limit: PAGE });
      all.push(...events);
      if (events.length < PAGE) break;
      after = events.at(-1)?.position ?? after;
    }
    return all;
  }

  /** The project as it stood at a position of its log. */
  async stateAt(key: ProjectKey, until_position: number): Promise<ProjectState> {
    const state = emptyProject();
    for (;;) {
      const events = await this.store.events(key, { after: state.position, until_position, limit: PAGE });
      for (const event of events) evolveProject(state, event);
      if (events.length < PAGE) return state;
    }
  }
}
