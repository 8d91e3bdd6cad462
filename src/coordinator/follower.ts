import { StoreBroken, StoreUnavailable } from '../stores/store.js';
import type { Backoff } from './backoff.js';
import type { Environment } from './environment.js';
import type { Project } from './project.js';
import type { Projects } from './projects.js';
import { repeat } from './repeat.js';

const POLL_MS = 250;

/**
 * Where several coordinators share a store, each reads what the others commit, so that those who wait or listen
 * here hear of it. No decision rests on it: a commit that was decided on an old view is refused by the store.
 */
export const followOthers = (projects: Projects, environment: Environment): (() => void) =>
  repeat(environment, POLL_MS, () =>
    [...byStore(projects.all())].map(([backoff, ofStore]) => followStore(backoff, ofStore)),
  );

/** Tenants may live in stores of their own: one that is gone slows down its own projects alone. */
function byStore(projects: Iterable<Project>): Map<Backoff, Project[]> {
  const stores = new Map<Backoff, Project[]>();
  for (const project of projects) {
    const ofStore = stores.get(project.backoff) ?? [];
    ofStore.push(project);
    stores.set(project.backoff, ofStore);
  }
  return stores;
}

/** A store that did not answer is asked for one project only, until it answers again. */
async function followStore(backoff: Backoff, projects: readonly Project[]): Promise<void> {
  if (backoff.isPausing) return;
  const asked = backoff.isFailing ? projects.slice(0, 1) : projects;
  const followed = await Promise.allSettled(asked.map((project) => project.follow()));
  if (followed.some(isOutage)) backoff.failed();
  else backoff.succeeded();
}

/** A damaged log, or a bug, concerns one project: the store answers the others. */
const isOutage = (settled: PromiseSettledResult<void>): boolean =>
  settled.status === 'rejected' &&
  (settled.reason instanceof StoreUnavailable || settled.reason instanceof StoreBroken);
