import { type AgentTally, emptyProject, evolveProject } from '../../core/views/index.js';
import type { Store } from '../../stores/store.js';
import type { Project } from '../project.js';

const PAGE = 2000;

/**
 * What only the events tell and no head keeps: what each agent did, how much refused work is kept. Read up to
 * the present when somebody asks, so that neither a command nor the opening of a long log pays for it.
 */
export class Tallies {
  private readonly state = emptyProject();
  private reading: Promise<void> | null = null;

  get agents(): Map<string, AgentTally> {
    return this.state.agents;
  }
  get parked(): Map<string, Set<string>> {
    return this.state.parked;
  }

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
      for (const event of events) evolveProject(this.state, event);
    }
  }
}
