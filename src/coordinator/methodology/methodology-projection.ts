import { evolveMethodology } from '../../core/methodology/progress/evolve.js';
import {
  emptyMethodologyState,
  type MethodologyState,
} from '../../core/methodology/progress/feature-state.js';
import { emptyWork, evolveWork, type WorkState } from '../../core/views/index.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { ProjectEventReader } from '../queue/project-event-reader.js';
import type { Environment } from '../runtime/environment.js';

const PAGE_EVENTS = 500;

/** Progress of a project's features, folded from its events on demand. */
export class MethodologyProjection {
  readonly state: MethodologyState = emptyMethodologyState();
  readonly reader = new ProjectEventReader((event) => evolveMethodology(this.state, event));
}

/** Replays the project's state at a position of its log. */
export async function replayUntil(
  {
    store,
    key,
    environment,
  }: { store: Store; key: ProjectKey; environment: Pick<Environment, 'yieldToEventLoop'> },
  until_position: number,
): Promise<{ work: WorkState; state: MethodologyState }> {
  const work = emptyWork();
  const state = emptyMethodologyState();
  for (;;) {
    const events = await store.events(key, { after: work.position, until_position, limit: PAGE_EVENTS });
    for (const event of events) {
      evolveWork(work, event);
      evolveMethodology(state, event);
    }
    if (events.length < PAGE_EVENTS) return { work, state };
    await environment.yieldToEventLoop();
  }
}
