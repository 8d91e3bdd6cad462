import { evolveMethodology } from '../../core/features/evolve.js';
import { emptyMethodologyState, type MethodologyState } from '../../core/features/feature-state.js';
import { emptyWork, evolveWork, type WorkState } from '../../core/views/index.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import type { Environment } from '../environment.js';
import { ProjectEventReader } from '../project-event-reader.js';

const PAGE_EVENTS = 500;

/** How far the features of a project are, up to the present whenever somebody asks. */
export class MethodologyProjection {
  readonly state: MethodologyState = emptyMethodologyState();
  readonly reader = new ProjectEventReader((event) => evolveMethodology(this.state, event));
}

/** The project as it was at a position of its log, whatever has happened since. */
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
