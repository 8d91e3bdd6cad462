import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Project } from './project.js';

const PAGE_EVENTS = 500;

/** How far a project's events are folded. */
interface FoldProgress<State> {
  readonly state: State;
  position: number;
  reading: Promise<void> | null;
}

/**
 * A state per project that is folded from its events, because its heads do not contain it. Each event is folded once, in
 * order, when the state is requested, so that commands and loading cost nothing more. Concurrent callers share one read.
 */
export class EventProjection<State> {
  private readonly progressOf = new WeakMap<Project, FoldProgress<State>>();

  constructor(
    private readonly emptyState: () => State,
    private readonly evolve: (state: State, event: EventEnvelope) => void,
  ) {}

  async stateOf(project: Project): Promise<State> {
    const progress = this.progressOf.get(project) ?? { state: this.emptyState(), position: 0, reading: null };
    this.progressOf.set(project, progress);
    progress.reading ??= this.catchUp(project, progress).finally(() => {
      progress.reading = null;
    });
    await progress.reading;
    return progress.state;
  }

  private async catchUp({ store, key, state, environment }: Project, progress: FoldProgress<State>) {
    while (progress.position < state.position) {
      const events = await store.events(key, { after: progress.position, limit: PAGE_EVENTS });
      if (events.length === 0) return;
      for (const event of events) {
        progress.position = event.position;
        this.evolve(progress.state, event);
      }
      if (events.length === PAGE_EVENTS) await environment.yieldToEventLoop();
    }
  }
}
