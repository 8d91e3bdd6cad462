import { type AgentTally, keepParked, type ParkedIds, tallyAgent } from '../../core/views/index.js';
import type { Store } from '../../stores/store.js';
import type { Project } from '../project.js';

const PAGE = 2000;

/**
 * What only the events tell and no head keeps: what each agent did, how much refused work is kept. Read up to
 * the present when somebody asks, so that neither a command nor the opening of a long log pays for it.
 */
export class Tallies {
  readonly agents = new Map<string, AgentTally>();
  readonly parked: ParkedIds = new Map();
  private position = 0;
  private reading: Promise<void> | null = null;

  catchUp(project: Project, store: Store): Promise<void> {
    this.reading ??= this.read(project, store).finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  private async read(project: Project, store: Store): Promise<void> {
    while (this.position < project.state.position) {
      const events = await store.events(project.key, { after: this.position, limit: PAGE });
      if (events.length === 0) return;
      for (const event of events) {
        this.position = event.position;
        tallyAgent(this.agents, event);
        keepParked(this.parked, event);
      }
    }
  }
}
