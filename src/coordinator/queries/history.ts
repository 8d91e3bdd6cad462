import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Steps } from '../../core/steps.js';
import { emptyProject, evolveProject, type ProjectState } from '../../core/views/index.js';
import type { EventQuery, ProjectKey, Store } from '../../stores/store.js';
import type { Environment } from '../environment.js';
import { inSlices } from '../in-slices.js';

const PAGE = 1000;
const EVENTS_MAX = 100_000;
const EVENTS_PER_STEP = 50;

/** What the log says, read page by page. */
export class History {
  constructor(
    private readonly store: Store,
    private readonly environment: Environment,
  ) {}

  /** Everything that ever happened to a subject, oldest first. */
  of(key: ProjectKey, subject: string): Promise<EventEnvelope[]> {
    return this.read(key, { subject });
  }

  async read(key: ProjectKey, filter: Partial<EventQuery>): Promise<EventEnvelope[]> {
    const all: EventEnvelope[] = [];
    await this.each(key, filter, (event) => all.push(event) < EVENTS_MAX);
    return all;
  }

  /** Calls `take` for one event after another until it returns false. Others are served between any two pages. */
  async each(
    key: ProjectKey,
    filter: Partial<EventQuery>,
    take: (event: EventEnvelope) => boolean,
  ): Promise<void> {
    for (let after = filter.after ?? 0; ; ) {
      const events = await this.store.events(key, { ...filter, after, limit: PAGE });
      const goesOn = await inSlices(taking(events, take), this.environment);
      if (!goesOn || events.length < PAGE) return;
      after = events.at(-1)?.position ?? after;
      await this.environment.breathe();
    }
  }

  /** The project as it stood at a position of its log. */
  async stateAt(key: ProjectKey, until_position: number): Promise<ProjectState> {
    const state = emptyProject();
    await this.each(key, { until_position }, (event) => {
      evolveProject(state, event);
      return true;
    });
    return state;
  }
}

function* taking(events: readonly EventEnvelope[], take: (event: EventEnvelope) => boolean): Steps<boolean> {
  for (const [at, event] of events.entries()) {
    if (!take(event)) return false;
    if (at % EVENTS_PER_STEP === 0) yield;
  }
  return true;
}
