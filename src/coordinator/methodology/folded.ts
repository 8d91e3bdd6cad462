import { evolveMethodology } from '../../core/features/evolve.js';
import { emptyMethodology, type MethodologyState } from '../../core/features/feature-state.js';
import { emptyWork, evolveWork, type WorkState } from '../../core/views/index.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import type { Environment } from '../environment.js';
import { Reader } from '../reader.js';

const PAGE = 500;

/** How far the features of a project are, up to the present whenever somebody asks. */
export class Folded {
  readonly state: MethodologyState = emptyMethodology();
  readonly reader = new Reader((event) => evolveMethodology(this.state, event));
}

/** The project as it was at a position of its log, whatever has happened since. */
export async function foldedAt(
  { store, key, environment }: { store: Store; key: ProjectKey; environment: Pick<Environment, 'breathe'> },
  until_position: number,
): Promise<{ work: WorkState; state: MethodologyState }> {
  const work = emptyWork();
  const state = emptyMethodology();
  for (;;) {
    const events = await store.events(key, { after: work.position, until_position, limit: PAGE });
    for (const event of events) {
      evolveWork(work, event);
      evolveMethodology(state, event);
    }
    if (events.length < PAGE) return { work, state };
    await environment.breathe();
  }
}
