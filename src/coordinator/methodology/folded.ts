import { evolveMethodology } from '../../core/features/evolve.js';
import { emptyMethodology, type MethodologyState } from '../../core/features/feature-state.js';
import { emptyWork, evolveWork, type WorkState } from '../../core/views/index.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import type { Project } from '../project.js';

const PAGE = 2000;

/**
 * How far the features of a project are. Read up to the present when somebody asks, so that neither a command nor the
 * opening of a long log pays for it.
 */
export class Folded {
  readonly state: MethodologyState = emptyMethodology();
  private reading: Promise<void> | null = null;

  catchUp(project: Project, store: Store): Promise<void> {
    this.reading ??= this.read(project, store).finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  private async read(project: Project, store: Store): Promise<void> {
    while (this.state.position < project.state.position) {
      const events = await store.events(project.key, { after: this.state.position, limit: PAGE });
      if (events.length === 0) return;
      for (const event of events) evolveMethodology(this.state, event);
    }
  }
}

/** The project as it was at a position of its log, whatever has happened since. */
export async function foldedAt(
  store: Store,
  key: ProjectKey,
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
  }
}
