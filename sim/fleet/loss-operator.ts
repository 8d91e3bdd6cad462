import type { Coordinator } from '../../src/coordinator/index.js';
import { isProblem } from '../../src/coordinator/wire/problem.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { projectPath, type Store, StoreUnavailable } from '../../src/stores/store.js';
import type { SimAudit } from './sim-audit.js';
import type { SimContext } from './sim-context.js';

/** The operator of a store whose history was lost: notices the loss with the anchors, and accepts the loss. */
export class LossOperator {
  private incarnation = 0;
  private isFirstOpening = false;
  /** By project, the position up to which the log is unchanged. Null: there is no loss to accept. */
  private keptPositions: Map<string, number> | null = null;

  constructor(
    private readonly context: SimContext,
    private readonly audit: SimAudit,
  ) {}

  begin(incarnation: number): void {
    this.incarnation = incarnation;
    this.isFirstOpening = true;
  }

  /** Called before the coordinator starts. The process may crash at any moment and begin again. */
  async onOpened(store: Store): Promise<void> {
    if (this.isFirstOpening) await this.compare(store);
    if (this.keptPositions !== null) await store.raiseIncarnation(this.incarnation);
  }

  async accept({ audit }: Coordinator): Promise<void> {
    if (this.keptPositions === null) return;
    for (const projectKey of this.context.projects) {
      const keptPosition = this.keptPositions.get(projectPath(projectKey)) ?? 0;
      const reply = await audit.acceptLoss(
        projectKey,
        this.audit.lossOf(projectKey, keptPosition, this.incarnation),
      );
      if (isProblem(reply)) throw new StoreUnavailable(reply.detail);
    }
    this.keptPositions = null;
  }

  private async compare(store: Store): Promise<void> {
    const { monitor, coverage, projects } = this.context;
    const eventsByProject = new Map<string, readonly EventEnvelope[]>();
    const keptPositions = new Map<string, number>();
    for (const projectKey of projects) {
      const events = await store.events(projectKey, { after: 0, limit: 1_000_000 });
      const eventsBefore = monitor.projectMonitor(projectKey).events;
      const firstDifferent = events.findIndex(({ event_id }, at) => event_id !== eventsBefore[at]?.event_id);
      const keptPosition = firstDifferent === -1 ? events.length : firstDifferent;
      eventsByProject.set(projectPath(projectKey), events);
      keptPositions.set(projectPath(projectKey), keptPosition);
      this.audit.checkLossNoticed(projectKey, events, keptPosition);
    }
    monitor.onHistoryLost(eventsByProject);
    this.isFirstOpening = false;
    this.keptPositions = keptPositions;
    coverage.hit('old disk restored');
  }
}
