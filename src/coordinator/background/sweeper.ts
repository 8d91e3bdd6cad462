import { canTakeOver, isStale } from '../../core/claims/lease.js';
import { subjectsWithOpenClaim } from '../../core/views/index.js';
import { holderOperation } from '../operations/holder.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { repeatEvery } from './repeat.js';
import type { Retention } from './retention.js';
import { ReviewDeadlines } from './review-deadlines.js';

const SWEPT_SUBJECTS_MAX = 1000;
const TICK_MS = 1000;

/**
 * Records expired and stale claims and overdue reviews soon after they become so, and starts retention in loaded projects.
 * The records are only for observers: commands do not wait for the sweeper, and are decided in the same way without it.
 */
export class Sweeper {
  readonly stop: () => void;
  private readonly lastSweepMs = new WeakMap<Project, number>();
  private readonly reviewDeadlines = new ReviewDeadlines();

  constructor(
    private readonly projects: Projects,
    environment: Environment,
    private readonly retention: Retention,
  ) {
    this.stop = repeatEvery(environment, TICK_MS, () => {
      const reachableProjects = [...this.projects.listLoaded()].filter(({ backoff }) => !backoff.isPausing);
      // Retention is not awaited, because it may take long. A failed run is repeated a day later.
      for (const project of reachableProjects)
        if (this.retention.isDue(project)) this.retention.redactOldEvents(project).catch(() => {});
      return reachableProjects
        .filter((project) => this.isDue(project))
        .map((project) => this.sweepProject(project));
    });
  }

  /** Runs retention in every loaded project. Returns the number of redacted events. */
  async redactHistory(): Promise<number> {
    return this.sumOverProjects(async (project) => (await this.retention.redactOldEvents(project)).redacted);
  }

  /** Returns the number of expired or stale claims that were recorded. */
  async sweep(): Promise<number> {
    return this.sumOverProjects((project) => this.sweepProject(project));
  }

  private async sumOverProjects(count: (project: Project) => Promise<number>): Promise<number> {
    const counts = await Promise.all([...this.projects.listLoaded()].map(count));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  private isDue(project: Project): boolean {
    const { now_ms, policy } = project.view();
    return now_ms - (this.lastSweepMs.get(project) ?? 0) >= policy.sweep_interval_seconds * 1000;
  }

  private async sweepProject(project: Project): Promise<number> {
    const view = project.view();
    this.lastSweepMs.set(project, view.now_ms);
    const due: string[] = [];
    for (const subject of subjectsWithOpenClaim(project.state)) {
      if (due.length >= SWEPT_SUBJECTS_MAX) break;
      const head = view.head(subject);
      const rules = view.rulesOf(subject);
      const isNewlyStale = isStale(head, view.now_ms, rules) && !head.claim?.stale;
      if (isNewlyStale || canTakeOver(head, view.now_ms, rules)) due.push(subject);
    }
    // Queued before the expiries, which may end the claims of these reviews.
    const timeouts = this.reviewDeadlines.record(project);
    const expiries = due.map((subject) =>
      project.run(holderOperation(subject, { type: 'expire' }, (decision) => decision.ok)),
    );
    const [, ...replies] = await Promise.all([timeouts, ...expiries]);
    return replies.filter((expired) => expired === true).length;
  }
}
