import { stringify } from 'yaml';
import type { PlanInput } from './change.js';
import type { Plan } from './plan.js';
import { taskInput } from './task.js';

/** The plan as it could have been written: by track and sequence, and read back it is the same plan. */
export function renderPlan(plan: Plan, project?: string): PlanInput {
  const tracks = plan.tracks().map((track) => [track, plan.tasksOf(track).map(taskInput)]);
  return { ...(project === undefined ? {} : { project }), tracks: Object.fromEntries(tracks) };
}

export const renderPlanYaml = (plan: Plan, project?: string): string =>
  stringify(renderPlan(plan, project), { aliasDuplicateObjects: false, schema: 'core' });
