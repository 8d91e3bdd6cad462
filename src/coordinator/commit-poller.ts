import { StoreBroken, StoreUnavailable } from '../stores/store.js';
import type { Backoff } from './backoff.js';
import type { Environment } from './environment.js';
import type { Project } from './project.js';
import type { Projects } from './projects.js';
import { repeatEvery } from './repeat.js';

const POLL_MS = 250;

/**
 * Where several coordinators share a store, each reads what the others commit, so that those who wait or listen
 * here hear of it. No decision rests on it: a commit that was decided on an old view is refused by the store.
 */
export const pollCommits = (projects: Projects, environment: Environment): (() => void) =>
  repeatEvery(environment, POLL_MS, () =>
    [...groupByStore(projects.all())].map(([backoff, storeProjects]) => pollStore(backoff, storeProjects)),
  );

/** Tenants may live in stores of their own: one that is gone slows down its own projects alone. */
function groupByStore(projects: Iterable<Project>): Map<Backoff, Project[]> {
  const stores = new Map<Backoff, Project[]>();
  for (const project of projects) {
    const storeProjects = stores.get(project.backoff) ?? [];
    storeProjects.push(project);
    stores.set(project.backoff, storeProjects);
  }
  return stores;
}

/** A store that did not answer is asked for one project only, until it answers again. */
async function pollStore(backoff: Backoff, projects: readonly Project[]): Promise<void> {
  if (backoff.isPausing) return;
  const polled = backoff.isFailing ? projects.slice(0, 1) : projects;
  const results = await Promise.allSettled(polled.map((project) => project.refresh()));
  if (results.some(isOutage)) backoff.failed();
  else backoff.succeeded();
}

/** A damaged log, or a bug, concerns one project: the store answers the others. */
const isOutage = (settled: PromiseSettledResult<void>): boolean =>
  settled.status === 'rejected' &&
  (settled.reason instanceof StoreUnavailable || settled.reason instanceof StoreBroken);
