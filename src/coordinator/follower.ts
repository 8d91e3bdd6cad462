import type { Environment } from './environment.js';
import type { Projects } from './projects.js';
import { repeat } from './repeat.js';

const POLL_MS = 250;

/**
 * Where several coordinators share a store, each reads what the others commit, so that those who wait or listen
 * here hear of it. No decision rests on it: a commit that was decided on an old view is refused by the store.
 */
export const followOthers = (projects: Projects, environment: Environment): (() => void) =>
  repeat(environment, POLL_MS, () => [...projects.all()].map((project) => project.follow()));
