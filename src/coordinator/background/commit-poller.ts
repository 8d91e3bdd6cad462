import { StoreBroken, StoreUnavailable } from '../../stores/store.js';
import type { Backoff } from '../queue/backoff.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { repeatEvery } from './repeat.js';

const POLL_MS = 250;
/**
 * A project that no command, query or stream here has used yet is polled once in this many rounds, because it is needed
 * only for its expiries and metrics.
 */
const ROUNDS_PER_WATCHED_POLL = 40;

/**
 * Polls the store for commits of other coordinators, so that waiters and event streams here see them. Correctness
 * does not depend on it: the store rejects a commit that was decided on stale state.
 */
export function pollCommits(projects: Projects, environment: Environment): () => void {
  let round = 0;
  return repeatEvery(environment, POLL_MS, () => {
    round = (round + 1) % ROUNDS_PER_WATCHED_POLL;
    const polled = [...projects.listLoaded()].filter(
      (project) => round === 0 || !projects.isOnlyWatched(project),
    );
    return [...groupByStore(polled)].map(([backoff, storeProjects]) => pollStore(backoff, storeProjects));
  });
}

/** Groups by store, because tenants may have their own stores: an outage slows down only the projects of that store. */
function groupByStore(projects: Iterable<Project>): Map<Backoff, Project[]> {
  const stores = new Map<Backoff, Project[]>();
  for (const project of projects) {
    const storeProjects = stores.get(project.backoff) ?? [];
    storeProjects.push(project);
    stores.set(project.backoff, storeProjects);
  }
  return stores;
}

/** While the store is failing, polls one of its projects only. */
async function pollStore(backoff: Backoff, projects: readonly Project[]): Promise<void> {
  if (backoff.isPausing) return;
  const polled = backoff.isFailing ? projects.slice(0, 1) : projects;
  const results = await Promise.allSettled(polled.map((project) => project.refresh()));
  if (results.some(isOutage)) backoff.recordFailure();
  else backoff.recordSuccess();
}

/** A damaged log or a bug affects one project; only these two errors concern the whole store. */
const isOutage = (settled: PromiseSettledResult<void>): boolean =>
  settled.status === 'rejected' &&
  (settled.reason instanceof StoreUnavailable || settled.reason instanceof StoreBroken);
