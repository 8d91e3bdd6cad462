import type { PlanInput } from '../contract/plan.js';
import { runAllSteps, type StepGenerator } from '../steps.js';
import type { Plan } from './plan.js';
import { type TaskInput, taskInput } from './task.js';

/** Renders the plan as a plan document, by track and sequence. The document parses back to the same plan. */
export const renderPlan = (plan: Plan, project?: string): PlanInput =>
  runAllSteps(renderPlanSteps(plan, project));

/** Renders the plan in steps of one track. */
export function* renderPlanSteps(plan: Plan, project?: string): StepGenerator<PlanInput> {
  const tracks = new Map<string, TaskInput[]>();
  for (const track of plan.tracks()) {
    tracks.set(track, plan.tasksOf(track).map(taskInput));
    yield;
  }
  return { ...(project === undefined ? {} : { project }), tracks: Object.fromEntries(tracks) };
}
