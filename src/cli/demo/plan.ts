import { readFileSync } from 'node:fs';

/** The demo's project: four interdependent tracks, one task with subtasks that are merged. */
export const DEMO_PROJECT = 'corner-shop';

export const DEMO_PLAN = readFileSync(new URL('./plan.yml', import.meta.url), 'utf8');
