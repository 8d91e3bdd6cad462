import type { PlanInput } from '../contract/plan.js';
import { runAtOnce, type SliceableWork } from '../sliceable-work.js';
import type { Plan } from './plan.js';
import { type TaskInput, taskInput } from './task.js';

/** Renders the plan as a plan document, by track and sequence. The document parses back to the same plan. */
export const renderPlan = (plan: Plan, projectId?: string): PlanInput =>
  runAtOnce(renderPlanInSlices(plan, projectId));

/** Renders the plan. Pauses after each track. */
export function* renderPlanInSlices(plan: Plan, projectId?: string): SliceableWork<PlanInput> {
  const tracks = new Map<string, TaskInput[]>();
  for (const track of plan.tracks()) {
    tracks.set(track, plan.tasksOf(track).map(taskInput));
    yield;
  }
  return { ...(projectId === undefined ? {} : { project: projectId }), tracks: Object.fromEntries(tracks) };
}
