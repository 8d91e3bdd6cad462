import type { ProjectKey, Store } from '../../stores/store.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { repeatEvery } from './repeat.js';

const PAGE_SIZE = 100;
/** How many projects are loaded at the same time. */
const LOADED_AT_ONCE = 8;
/** Interval for reading the due projects: those with a claim that has ended, while no event records the end. */
const DUE_TICK_MS = 10_000;
/** Interval for a store without `dueProjects`, where all projects with permits are listed. */
const LIST_TICK_MS = 60_000;

/**
 * Loads projects whose claims may end, so that this is recorded even if no command arrives: at the start all projects with
 * claims, and later those that another coordinator has abandoned. Projects without claims are not loaded.
 */
export class ClaimedProjectsWatch {
  readonly stop: () => void;
  /** Resolves when the first attempt to load these projects is over, whether it succeeded or not. */
  readonly firstLoad: Promise<void>;
  private hasLoadedAll = false;
  private isStopped = false;

  constructor(
    private readonly projects: Projects,
    private readonly store: Store,
    environment: Environment,
  ) {
    this.firstLoad = this.loadAll().catch(() => {});
    const tickMs = store.dueProjects === undefined ? LIST_TICK_MS : DUE_TICK_MS;
    const stopRepeating = repeatEvery(environment, tickMs, () => [
      this.firstLoad.then(() => this.loadMore()),
    ]);
    this.stop = () => {
      this.isStopped = true;
      stopRepeating();
    };
  }

  private async loadMore(): Promise<void> {
    if (!this.hasLoadedAll) return this.loadAll();
    // A single writer has already loaded every project that got claims since the start.
    if (this.store.capabilities.single_writer) return;
    if (this.store.dueProjects === undefined) return this.loadAll();
    await this.load(await this.store.dueProjects(PAGE_SIZE));
  }

  private async loadAll(): Promise<void> {
    let after: ProjectKey | null = null;
    do {
      const page: ProjectKey[] = await this.store.projectsWithPermits({ after, limit: PAGE_SIZE });
      await this.load(page);
      after = page.length < PAGE_SIZE ? null : (page.at(-1) as ProjectKey);
    } while (after !== null && !this.isStopped);
    this.hasLoadedAll = true;
  }

  /**
   * Loads several projects at a time. One that cannot be loaded, for example because its log is damaged, is left out; the
   * next command on it reports the fault.
   */
  private async load(projectKeys: readonly ProjectKey[]): Promise<void> {
    for (let first = 0; first < projectKeys.length && !this.isStopped; first += LOADED_AT_ONCE) {
      const batch = projectKeys.slice(first, first + LOADED_AT_ONCE);
      await Promise.allSettled(batch.map((projectKey) => this.projects.watch(projectKey)));
    }
  }
}
