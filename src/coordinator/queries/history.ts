import type { EventEnvelope } from '../../core/events/envelope.js';
import { emptyProject, evolveProject, type ProjectState } from '../../core/views/index.js';
import type { EventQuery, ProjectKey, Store } from '../../stores/store.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';

/** Pages are small, because some stores decode a whole page at once, and an event may have 64 KiB. */
const PAGE_EVENTS = 100;
const EVENTS_MAX = 100_000;
const EVENTS_BETWEEN_PAUSES = 50;

/** Reads the log page by page. */
export class EventHistory {
  constructor(
    private readonly store: Store,
    private readonly environment: Environment,
  ) {}

  /** The events of a subject, oldest first. At most `EVENTS_MAX`; later ones are left out. */
  ofSubject(projectKey: ProjectKey, subject: string): Promise<EventEnvelope[]> {
    return this.read(projectKey, { subject });
  }

  async read(projectKey: ProjectKey, filter: Partial<EventQuery>): Promise<EventEnvelope[]> {
    const all: EventEnvelope[] = [];
    await this.forEach(projectKey, filter, (event) => all.push(event) < EVENTS_MAX);
    return all;
  }

  /** Calls `visit` for each event until it returns false. Yields to other work between pages. */
  async forEach(
    projectKey: ProjectKey,
    filter: Partial<EventQuery>,
    visit: (event: EventEnvelope) => boolean,
  ) {
    for (let after = filter.after ?? 0; ; ) {
      const events = await this.store.events(projectKey, { ...filter, after, limit: PAGE_EVENTS });
      const shouldContinue = await runInSlices(visitEvents(events, visit), this.environment);
      if (!shouldContinue || events.length < PAGE_EVENTS) return;
      after = events.at(-1)?.position ?? after;
      await this.environment.yieldToEventLoop();
    }
  }

  /** The project's state at a position of its log. */
  async stateAt(projectKey: ProjectKey, until_position: number): Promise<ProjectState> {
    const state = emptyProject();
    await this.forEach(projectKey, { until_position }, (event) => {
      evolveProject(state, event);
      return true;
    });
    return state;
  }
}

function* visitEvents(events: readonly EventEnvelope[], visit: (event: EventEnvelope) => boolean) {
  for (const [at, event] of events.entries()) {
    if (!visit(event)) return false;
    if (at % EVENTS_BETWEEN_PAUSES === 0) yield;
  }
  return true;
}
