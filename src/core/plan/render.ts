import { stringify } from 'yaml';
import { allSteps, type Steps } from '../steps.js';
import type { PlanInput } from './change.js';
import type { Plan } from './plan.js';
import { type TaskInput, taskInput } from './task.js';

/** The plan as it could have been written: by track and sequence, and read back it is the same plan. */
export const renderPlan = (plan: Plan, project?: string): PlanInput => allSteps(renderSteps(plan, project));

/** The same, a track at a step. */
export function* renderSteps(plan: Plan, project?: string): Steps<PlanInput> {
  const tracks = new Map<string, TaskInput[]>();
  for (const track of plan.tracks()) {
    tracks.set(track, plan.tasksOf(track).map(taskInput));
    yield;
  }
  return { ...(project === undefined ? {} : { project }), tracks: Object.fromEntries(tracks) };
}

export const renderPlanYaml = (plan: Plan, project?: string): string =>
  stringify(renderPlan(plan, project), { aliasDuplicateObjects: false, schema: 'core' });
