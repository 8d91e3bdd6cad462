import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Project } from './project.js';

const PAGE_EVENTS = 500;

/**
 * Reads a project's events in order, each once, catching up on demand. Projections that need all events then cost
 * neither commands nor opening a project. Concurrent callers share one read.
 */
export class ProjectEventReader {
  private position = 0;
  private reading: Promise<void> | null = null;

  constructor(private readonly visit: (event: EventEnvelope) => void) {}

  catchUp(project: Project): Promise<void> {
    this.reading ??= this.read(project).finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  private async read(project: Project): Promise<void> {
    while (this.position < project.state.position) {
      const events = await project.store.events(project.key, { after: this.position, limit: PAGE_EVENTS });
      if (events.length === 0) return;
      for (const event of events) {
        this.position = event.position;
        this.visit(event);
      }
      if (events.length === PAGE_EVENTS) await project.environment.yieldToEventLoop();
    }
  }
}
